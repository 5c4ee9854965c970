#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "../objects/pointers_in_use.h"

// Asks the addon of libfabric, which this one is not linked with, about memory that the process has
// registered.
namespace accelerator {

// The function of the addon of libfabric if any thread of this process has loaded it, or nullptr.
inline decltype(&libfabricPointerInUse) findPointerInUse() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&findPointerInUse), &self) == 0) return nullptr;
  const std::string path = self.dli_fname;
  const std::string addon = path.substr(0, path.rfind('/') + 1) + "libfabric.node";
  void* const library = ::dlopen(addon.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const found = ::dlsym(library, "libfabricPointerInUse");
  ::dlclose(library);  // the addon stays loaded: -z nodelete
  return reinterpret_cast<decltype(&libfabricPointerInUse)>(found);
}

// Whether this process has registered a part of the memory by its pointer. `iface`: enum
// fi_hmem_iface.
inline bool isRegistered(uint32_t iface, uint64_t pointer, uint64_t length) {
  const auto inUse = findPointerInUse();
  return inUse != nullptr && inUse(iface, pointer, length);
}

}  // namespace accelerator
