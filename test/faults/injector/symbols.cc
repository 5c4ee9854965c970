// The functions that the addon and softefa call by name: of libfabric, and of the C library for
// room in /dev/shm. This library is preloaded, so that its functions are found first.
#include <dlfcn.h>
#include <fcntl.h>
#include <rdma/fabric.h>
#include <sys/statvfs.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "objects.h"
#include "plan.h"

namespace {

// A function of libfabric, which is loaded with the addon, not before. The addon was linked with
// the version VERSION_OF_..., because structures differ between versions. Other callers, such as
// that version of the function in a later libfabric, get the newest one.
template <typename Function>
class Real {
 public:
  Real(Function*, const char* name, const char* version) {
    void* library = dlopen("libfabric.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void* linked = library == nullptr ? nullptr : dlvsym(library, name, version);
    void* newest = library == nullptr ? nullptr : dlsym(library, name);
    if (linked == nullptr || newest == nullptr) {
      std::fprintf(stderr, "the injector finds no %s@%s\n", name, version);
      std::abort();
    }
    linked_ = reinterpret_cast<Function*>(linked);
    newest_ = reinterpret_cast<Function*>(newest);
  }
  Function* of(bool addon) const { return addon ? linked_ : newest_; }

 private:
  Function* linked_;
  Function* newest_;
};

}  // namespace

// A full /dev/shm: softefa allocates its pages there, and the addon checks whether a provider's
// file fits.
extern "C" int posix_fallocate(int file, off_t offset, off_t size) {
  static auto* const next =
      reinterpret_cast<decltype(&posix_fallocate)>(dlsym(RTLD_NEXT, "posix_fallocate"));
  const auto [fails, error] = faults::decide(faults::Kind::Space);
  return fails ? error : next(file, offset, size);
}

extern "C" int statvfs(const char* path, struct statvfs* found) {
  static auto* const next = reinterpret_cast<decltype(&statvfs)>(dlsym(RTLD_NEXT, "statvfs"));
  const int result = next(path, found);
  if (result != 0 || std::strcmp(path, "/dev/shm") != 0) return result;
  if (faults::decide(faults::Kind::Space).fails) found->f_bfree = found->f_bavail = 0;
  return result;
}

extern "C" int fi_getinfo(uint32_t version, const char* node, const char* service, uint64_t flags,
                          const fi_info* hints, fi_info** info) {
  static const Real next(fi_getinfo, "fi_getinfo", VERSION_OF_fi_getinfo);
  const bool counts = faults::isAddon(__builtin_return_address(0));
  if (counts) {
    const auto [fails, error] = faults::decide(faults::Kind::Query);
    if (fails) return -error;
  }
  return next.of(counts)(version, node, service, flags, hints, info);
}

extern "C" int fi_fabric(fi_fabric_attr* attr, fid_fabric** fabric, void* context) {
  static const Real next(fi_fabric, "fi_fabric", VERSION_OF_fi_fabric);
  const bool counts = faults::isAddon(__builtin_return_address(0));
  if (counts) {
    const auto [fails, error] = faults::decide(faults::Kind::Open);
    if (fails) return -error;
  }
  const int result = next.of(counts)(attr, fabric, context);
  if (result == 0 && counts) faults::hookFabric(*fabric);
  return result;
}
