#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

// A library of an accelerator that is loaded at run time: its functions, and their failures.
namespace accelerator {

// A call of the library that did not return 0, which is success in each of them.
struct CallFailure : std::runtime_error {
  CallFailure(int code, const char* call) : std::runtime_error(call), result(code), syscall(call) {}
  int result;
  const char* syscall;  // "cuMemAlloc"
};

// The library does not load, or lacks a function.
struct LibraryMissing : std::runtime_error {
  LibraryMissing(const char* missing, const std::string& why)
      : std::runtime_error(why), symbol(missing) {}
  const char* symbol;  // nullptr if the library does not load
};

// Loads a library, which is never closed: other parts of the process use it too. Throws
// LibraryMissing.
inline void* load(const char* name) {
  void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw LibraryMissing(nullptr, ::dlerror());
  return library;
}

// A function that the library may lack.
template <typename Result, typename... Args>
class Optional {
 public:
  Optional(void* library, const char* symbol)
      : function_(reinterpret_cast<Result (*)(Args...)>(::dlsym(library, symbol))) {}

  bool exists() const { return function_ != nullptr; }
  Result operator()(Args... args) const { return function_(args...); }

 private:
  Result (*function_)(Args...);
};

// A function that must exist. The constructor throws LibraryMissing.
template <typename Result, typename... Args>
class Function : public Optional<Result, Args...> {
 public:
  Function(void* library, const char* symbol) : Optional<Result, Args...>(library, symbol) {
    if (!this->exists()) throw LibraryMissing(symbol, std::string("it has no ") + symbol);
  }
};

// A function that returns 0 if it succeeds.
template <typename... Args>
class Call : private Function<int, Args...> {
 public:
  Call(void* library, const char* symbol, const char* name)
      : Function<int, Args...>(library, symbol), name_(name) {}
  Call(void* library, const char* symbol) : Call(library, symbol, symbol) {}

  // Throws CallFailure.
  void operator()(Args... args) const {
    const int result = attempt(args...);
    if (result != 0) throw CallFailure(result, name_);
  }

  int attempt(Args... args) const { return Function<int, Args...>::operator()(args...); }

 private:
  const char* name_;
};

}  // namespace accelerator
