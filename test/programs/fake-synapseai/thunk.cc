// A fake of libhl-thunk.so, over that of libSynapse.so, which must be loaded.
#include <dlfcn.h>

#include <cstdint>

extern "C" __attribute__((visibility("default"))) int hlthunk_device_mapped_memory_export_dmabuf_fd(
    int fd, uint64_t base, uint64_t size, uint64_t offset, uint32_t flags) {
  using Export = int(int, uint64_t, uint64_t, uint64_t, uint32_t);
  void* const synapse = dlopen("libSynapse.so", RTLD_NOW | RTLD_NOLOAD);
  auto* const exported = reinterpret_cast<Export*>(dlsym(synapse, "fakeExportDmabuf"));
  return exported(fd, base, size, offset, flags);
}
