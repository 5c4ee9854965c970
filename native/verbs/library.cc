#include "library.h"

#include <dlfcn.h>

namespace verbs {

Library::Library(const char* name, const char* symbol) : name_(name), handle_(RTLD_DEFAULT) {
  if (::dlsym(RTLD_DEFAULT, symbol) != nullptr) return;
  // Never closed, because the drivers that libibverbs loads stay in the process.
  handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) throw LibraryMissing(name, ::dlerror());
}

void* Library::find(const char* symbol) const {
  void* found = ::dlsym(handle_, symbol);
  if (found == nullptr) throw LibraryMissing(name_, std::string(name_) + " has no " + symbol);
  return found;
}

}  // namespace verbs
