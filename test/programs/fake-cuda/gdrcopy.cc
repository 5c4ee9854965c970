// A fake of GDRCopy, over the fake driver that is loaded in the process. libfabric loads it as
// libgdrapi.so. Its mappings are the only ones with which the host reaches the memory.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "fake.h"
#include "include/gdrapi.h"

FAKE_CUDA fakeCudaOpen(uint64_t pointer, size_t length);
FAKE_CUDA fakeCudaEnter(const char* name);
FAKE_CUDA fakeCudaHeld(const char* name, int more);

namespace {

constexpr size_t kPage = 65536;

struct Pinned {
  size_t size;
  int fd;
  void* mapping;
};

// The state of the process. Everything is guarded by `mutex`.
struct Pins {
  std::mutex mutex;
  std::map<unsigned long, Pinned> pinned;  // by handle
  unsigned long last = 0;
  static Pins& get() {
    static Pins pins;
    return pins;
  }
  // The end of `pinned` unless the range lies within the handle's mapping.
  std::map<unsigned long, Pinned>::iterator mapped(gdr_mh_t handle, const void* at, size_t size) {
    const auto found = pinned.find(handle.h);
    if (found == pinned.end() || found->second.mapping == nullptr) return pinned.end();
    const auto start = reinterpret_cast<uint64_t>(found->second.mapping);
    const auto from = reinterpret_cast<uint64_t>(at);
    const bool within = from >= start && size <= found->second.size - (from - start);
    return within ? found : pinned.end();
  }
};

// Copies bytes of which one side is `mapped`.
int copy(gdr_mh_t handle, const void* mapped, void* to, const void* from, size_t size) {
  Pins& pins = Pins::get();
  const std::lock_guard<std::mutex> lock(pins.mutex);
  if (pins.mapped(handle, mapped, size) == pins.pinned.end()) return EINVAL;
  std::memcpy(to, from, size);
  return 0;
}

}  // namespace

struct gdr {};

extern "C" __attribute__((visibility("default"))) gdr_t gdr_open() {
  if (fakeCudaEnter("gdr_open") != 0) return nullptr;
  static gdr opened;
  return &opened;
}

FAKE_CUDA gdr_close(gdr_t) { return fakeCudaEnter("gdr_close"); }

FAKE_CUDA gdr_pin_buffer(gdr_t, unsigned long pointer, size_t size, uint64_t, uint32_t,
                         gdr_mh_t* handle) {
  if (const int failure = fakeCudaEnter("gdr_pin_buffer")) return failure;
  if (pointer % kPage != 0 || size % kPage != 0) return EINVAL;
  const int fd = fakeCudaOpen(pointer, size);
  if (fd < 0) return EINVAL;
  Pins& pins = Pins::get();
  const std::lock_guard<std::mutex> lock(pins.mutex);
  handle->h = ++pins.last;
  pins.pinned.emplace(handle->h, Pinned{size, fd, nullptr});
  fakeCudaHeld("pinned", 1);
  return 0;
}

FAKE_CUDA gdr_unpin_buffer(gdr_t, gdr_mh_t handle) {
  if (const int failure = fakeCudaEnter("gdr_unpin_buffer")) return failure;
  Pins& pins = Pins::get();
  const std::lock_guard<std::mutex> lock(pins.mutex);
  const auto found = pins.pinned.find(handle.h);
  if (found == pins.pinned.end() || found->second.mapping != nullptr) return EINVAL;
  close(found->second.fd);
  pins.pinned.erase(found);
  fakeCudaHeld("pinned", -1);
  return 0;
}

FAKE_CUDA gdr_map(gdr_t, gdr_mh_t handle, void** place, size_t size) {
  if (const int failure = fakeCudaEnter("gdr_map")) return failure;
  Pins& pins = Pins::get();
  const std::lock_guard<std::mutex> lock(pins.mutex);
  const auto found = pins.pinned.find(handle.h);
  if (found == pins.pinned.end() || size != found->second.size) return EINVAL;
  const off_t start = lseek(found->second.fd, 0, SEEK_CUR);
  *place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, found->second.fd, start);
  if (*place == MAP_FAILED) return errno;
  found->second.mapping = *place;
  fakeCudaHeld("mappings", 1);
  return 0;
}

FAKE_CUDA gdr_unmap(gdr_t, gdr_mh_t handle, void* place, size_t size) {
  if (const int failure = fakeCudaEnter("gdr_unmap")) return failure;
  Pins& pins = Pins::get();
  const std::lock_guard<std::mutex> lock(pins.mutex);
  const auto found = pins.mapped(handle, place, size);
  if (found == pins.pinned.end()) return EINVAL;
  munmap(place, size);
  found->second.mapping = nullptr;
  fakeCudaHeld("mappings", -1);
  return 0;
}

FAKE_CUDA gdr_copy_to_mapping(gdr_mh_t handle, void* to, const void* from, size_t size) {
  if (const int failure = fakeCudaEnter("gdr_copy_to_mapping")) return failure;
  return copy(handle, to, to, from, size);
}

FAKE_CUDA gdr_copy_from_mapping(gdr_mh_t handle, void* to, const void* from, size_t size) {
  if (const int failure = fakeCudaEnter("gdr_copy_from_mapping")) return failure;
  return copy(handle, from, to, from, size);
}
