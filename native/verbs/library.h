#pragma once

#include <stdexcept>
#include <string>

namespace verbs {

// A library of rdma-core that is not on this machine, or does not load.
class LibraryMissing : public std::runtime_error {
 public:
  LibraryMissing(const char* library, const std::string& why)
      : std::runtime_error(why), library(library) {}
  const char* const library;
};

// Where the functions of one library are. They are looked for when they are needed, since this
// addon loads on machines without rdma-core; and first among what the whole process sees, which is
// where softefa takes their place.
class Library {
 public:
  // `symbol` is one that every version has. Throws LibraryMissing.
  Library(const char* name, const char* symbol);

  // Throws LibraryMissing where this version has no such function.
  template <class Function>
  Function* function(const char* symbol) const {
    return reinterpret_cast<Function*>(find(symbol));
  }

 private:
  void* find(const char* symbol) const;

  const char* name_;
  void* handle_;
};

}  // namespace verbs
