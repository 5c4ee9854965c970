// Memory. Copies to the device and memsets are done when the stream is synchronized, because the
// driver may do them late, too.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "fake.h"

using namespace fake;

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kGranule = 65536;  // of allocations, because GDRCopy maps pages of 64 KiB
constexpr size_t kDeviceMemory = size_t{1} << 30;

size_t rounded(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

// Maps a file without access, at an address that is a multiple of the granule: where memory of the
// same size was freed, as the driver does, or at a new one.
void* mapAligned(State& state, int fd, size_t size) {
  const auto freed = state.freed.find(size);
  if (freed != state.freed.end()) {
    void* const place = reinterpret_cast<void*>(freed->second);
    state.freed.erase(freed);
    return mmap(place, size, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, 0);
  }
  const size_t reserved = size + kGranule;
  void* const range = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (range == MAP_FAILED) return MAP_FAILED;
  const auto from = reinterpret_cast<uint64_t>(range);
  const uint64_t start = rounded(from, kGranule);
  if (start > from) munmap(range, start - from);
  munmap(reinterpret_cast<void*>(start + size), from + reserved - start - size);
  return mmap(reinterpret_cast<void*>(start), size, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, 0);
}

bool writeAll(int fd, const uint8_t* bytes, size_t length, uint64_t offset) {
  return pwrite(fd, bytes, length, static_cast<off_t>(offset)) == static_cast<ssize_t>(length);
}

// Writes into memory now if it has SYNC_MEMOPS, or else when the stream is synchronized.
void writeInOrder(State& state, const Allocation& to, std::vector<uint8_t> bytes, uint64_t offset) {
  const auto work = [fd = to.fd, bytes = std::move(bytes), offset] {
    if (!writeAll(fd, bytes.data(), bytes.size(), offset)) std::abort();
  };
  state.queued.emplace_back(work);
  if (to.syncMemops) state.finish();
}

size_t used(const State& state, int device) {
  size_t bytes = 0;
  for (const auto& [start, each] : state.memory) {
    if (each.device == device) bytes += each.size;
  }
  return bytes;
}

unsigned typeOf() {
  const char* memory = std::getenv("FAKE_CUDA_MEMORY");
  return memory != nullptr && std::strcmp(memory, "host") == 0 ? 1 : 2;
}

bool isManaged() {
  const char* memory = std::getenv("FAKE_CUDA_MEMORY");
  return memory != nullptr && std::strcmp(memory, "managed") == 0;
}

}  // namespace

FAKE_CUDA cuMemAlloc_v2(uint64_t* pointer, size_t size) {
  if (const int failure = enter("cuMemAlloc")) return failure;
  if (stack().empty()) return kInvalidContext;
  if (size == 0) return kInvalidValue;
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const int device = stack().back()->device;
  if (size > kDeviceMemory - used(state, device)) return kOutOfMemory;
  const int fd = memfd_create("fake-cuda", MFD_CLOEXEC);
  if (fd < 0) return kOutOfMemory;
  void* const place = ftruncate(fd, static_cast<off_t>(rounded(size, kPage))) == 0
                          ? mapAligned(state, fd, rounded(size, kGranule))
                          : MAP_FAILED;
  if (place == MAP_FAILED) {
    close(fd);
    return kOutOfMemory;
  }
  *pointer = reinterpret_cast<uint64_t>(place);
  count("held:memory", 1);
  state.memory.emplace(*pointer, Allocation{fd, size, device, false});
  return kSuccess;
}

FAKE_CUDA cuMemFree_v2(uint64_t pointer) {
  if (const int failure = enter("cuMemFree")) return failure;
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.memory.find(pointer);
  if (found == state.memory.end()) return kInvalidValue;
  if (stack().empty() || stack().back()->device != found->second.device) return kInvalidContext;
  state.finish();
  // The addresses stay reserved: a use of freed memory by the host is a fault, too.
  const size_t size = rounded(found->second.size, kGranule);
  mmap(reinterpret_cast<void*>(pointer), size, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  state.freed.emplace(size, pointer);
  close(found->second.fd);
  state.memory.erase(found);
  count("held:memory", -1);
  return kSuccess;
}

FAKE_CUDA cuMemcpyHtoD_v2(uint64_t pointer, const void* bytes, size_t length) {
  if (const int failure = enter("cuMemcpyHtoD")) return failure;
  if (stack().empty()) return kInvalidContext;
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.find(pointer, length);
  if (found == state.memory.end()) return kInvalidValue;
  const auto* from = static_cast<const uint8_t*>(bytes);
  writeInOrder(state, found->second, {from, from + length}, pointer - found->first);
  return kSuccess;
}

FAKE_CUDA cuMemcpyDtoH_v2(void* bytes, uint64_t pointer, size_t length) {
  if (const int failure = enter("cuMemcpyDtoH")) return failure;
  if (stack().empty()) return kInvalidContext;
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.find(pointer, length);
  if (found == state.memory.end()) return kInvalidValue;
  state.finish();
  const auto offset = static_cast<off_t>(pointer - found->first);
  const ssize_t got = pread(found->second.fd, bytes, length, offset);
  return got == static_cast<ssize_t>(length) ? kSuccess : kInvalidValue;
}

FAKE_CUDA cuMemsetD8_v2(uint64_t pointer, unsigned char value, size_t length) {
  if (const int failure = enter("cuMemsetD8")) return failure;
  if (stack().empty()) return kInvalidContext;
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.find(pointer, length);
  if (found == state.memory.end()) return kInvalidValue;
  writeInOrder(state, found->second, std::vector<uint8_t>(length, value), pointer - found->first);
  return kSuccess;
}

FAKE_CUDA cuPointerGetAttribute(void* data, int attribute, uint64_t pointer) {
  if (const int failure = enter("cuPointerGetAttribute")) return failure;
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.find(pointer, 0);
  if (found == state.memory.end()) return kInvalidValue;
  const auto& [start, allocation] = *found;
  const unsigned type = typeOf();
  const unsigned managed = isManaged() ? 1 : 0;
  switch (attribute) {
    case 2:
      std::memcpy(data, &type, sizeof(type));
      return kSuccess;
    case 8:
      std::memcpy(data, &managed, sizeof(managed));
      return kSuccess;
    case 9:
      std::memcpy(data, &allocation.device, sizeof(allocation.device));
      return kSuccess;
    case 11:
      std::memcpy(data, &start, sizeof(start));
      return kSuccess;
    case 12:
      std::memcpy(data, &allocation.size, sizeof(allocation.size));
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

FAKE_CUDA cuPointerSetAttribute(const void* data, int attribute, uint64_t pointer) {
  if (const int failure = enter("cuPointerSetAttribute")) return failure;
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.find(pointer, 0);
  if (found == state.memory.end() || attribute != 6) return kInvalidValue;
  unsigned value = 0;
  std::memcpy(&value, data, sizeof(value));
  found->second.syncMemops = value != 0;
  return kSuccess;
}

// Opens the file of an allocation at the address, which must be that of a page. The position of the
// descriptor is where the range starts: softefa takes it for the start of a dmabuf.
FAKE_CUDA fakeCudaOpen(uint64_t pointer, size_t length) {
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.find(pointer, 0);
  if (found == state.memory.end()) return -kInvalidValue;
  const uint64_t offset = pointer - found->first;
  if (length > rounded(found->second.size, kGranule) - offset) return -kInvalidValue;
  const std::string path = "/proc/self/fd/" + std::to_string(found->second.fd);
  const int fd = open(path.c_str(), O_RDWR);
  if (fd < 0) return -kOutOfMemory;
  lseek(fd, static_cast<off_t>(offset), SEEK_SET);
  return fd;
}

FAKE_CUDA cuMemGetHandleForAddressRange(void* handle, uint64_t pointer, size_t length, int type,
                                        unsigned long long flags) {
  if (const int failure = enter("cuMemGetHandleForAddressRange")) return failure;
  if (type != 1 || flags != 0 || pointer % kPage != 0 || length % kPage != 0) return kInvalidValue;
  const int fd = fakeCudaOpen(pointer, length);
  if (fd < 0) return -fd;
  std::memcpy(handle, &fd, sizeof(fd));
  return kSuccess;
}
