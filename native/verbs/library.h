#pragma once

#include <stdexcept>
#include <string>

namespace verbs {

// A library of rdma-core is not installed or does not load.
class LibraryMissing : public std::runtime_error {
 public:
  LibraryMissing(const char* library, const std::string& why)
      : std::runtime_error(why), library(library) {}
  const char* const library;
};

// The functions of one library. They are looked up on first use, because this addon must also load
// on machines without rdma-core. The global symbols of the process take precedence, so that softefa
// can replace the library.
class Library {
 public:
  // `symbol` is a function that every version has. Throws LibraryMissing.
  Library(const char* name, const char* symbol);

  // Throws LibraryMissing if this version does not have the function.
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
