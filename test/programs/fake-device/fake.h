#pragma once

// What the fakes of accelerators' libraries share, for tests on machines without the devices:
// memory that is a memfd, mapped without access, so that any touch of it by the host is a fault. A
// fake has no other function of a device. Its variables are FAKE_NAME_..., of which all have:
//
// FAKE_NAME_FAIL      FUNCTION:N:RESULT: the N-th call of the function fails, counted from when the
//                     variable was set. The function `*` counts all calls.
// FAKE_NAME_COUNTERS  a file that gets the number of calls of each function, of those that failed
// on
//                     request (failed:FUNCTION), and what is held: held:memory and others

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace fake {

// The name of the fake, which defines it: "rocr".
extern const char* const kName;

constexpr size_t kPage = 4096;

inline size_t rounded(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

// FAKE_NAME_..., or `otherwise` if it is not set or empty.
inline std::string variable(const std::string& name, const char* otherwise = "") {
  std::string full = "FAKE_";
  for (const char* each = kName; *each != '\0'; ++each) {
    full += static_cast<char>(std::toupper(static_cast<unsigned char>(*each)));
  }
  const char* value = std::getenv((full + "_" + name).c_str());
  return value == nullptr || *value == '\0' ? otherwise : value;
}

inline int numberOf(const char* name, const char* otherwise) {
  return std::atoi(variable(name, otherwise).c_str());
}

// The calls: FAKE_NAME_FAIL and FAKE_NAME_COUNTERS.
class Calls {
 public:
  static Calls& get() {
    static Calls calls;
    return calls;
  }

  // Adds to a counter of the file, in which each has a line of 64 characters.
  void count(const std::string& name, int more) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    const int sum = counts_[name] += more;
    const std::string path = variable("COUNTERS");
    if (path.empty()) return;
    const size_t line = lines_.try_emplace(name, lines_.size()).first->second;
    char text[65];
    std::snprintf(text, sizeof(text), "%-52s%11d\n", name.c_str(), sum);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return;
    if (pwrite(fd, text, 64, static_cast<off_t>(line) * 64) != 64) std::perror(kName);
    close(fd);
  }

  // Counts a call. Returns the result with which it must fail, or 0.
  int enter(const std::string& name) {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    count(name, 1);
    const int failure = failureOf(name);
    if (failure != 0) count("failed:" + name, 1);
    return failure;
  }

 private:
  int failureOf(const std::string& name) {
    const std::string wanted = variable("FAIL");
    if (wanted != wanted_) {
      wanted_ = wanted;
      seen_ = 0;
    }
    char function[64];
    int number = 0;
    int result = 0;
    if (std::sscanf(wanted.c_str(), "%63[^:]:%d:%d", function, &number, &result) != 3) return 0;
    if (std::strcmp(function, "*") != 0 && name != function) return 0;
    return ++seen_ == number ? result : 0;
  }

  std::recursive_mutex mutex_;
  std::map<std::string, int> counts_;
  std::map<std::string, size_t> lines_;
  std::string wanted_;
  int seen_ = 0;
};

inline void count(const std::string& name, int more) { Calls::get().count(name, more); }
inline int enter(const std::string& name) { return Calls::get().enter(name); }

struct Block {
  int fd;
  uint64_t start;
  size_t size;
  size_t mapped;
  int device;
};

// The memory of all devices.
class Memory {
 public:
  static constexpr size_t kMost = size_t{1} << 30;  // bytes of a device

  static Memory& get() {
    static Memory memory;
    return memory;
  }

  // Returns the address, or 0 if the device has no such memory.
  uint64_t allocate(size_t size, int device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (size > kMost - used(device)) return 0;
    const size_t mapped = rounded(size, kPage);
    const int fd = memfd_create((std::string("fake-") + kName).c_str(), MFD_CLOEXEC);
    if (fd < 0) return 0;
    void* const place =
        ftruncate(fd, static_cast<off_t>(mapped)) == 0 ? map(fd, mapped) : MAP_FAILED;
    if (place == MAP_FAILED) {
      close(fd);
      return 0;
    }
    const auto start = reinterpret_cast<uint64_t>(place);
    blocks_.emplace(start, Block{fd, start, size, mapped, device});
    count("held:memory", 1);
    return start;
  }

  // Returns false if the address is not the start of memory.
  bool free(uint64_t start) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(start);
    if (found == blocks_.end()) return false;
    const Block block = found->second;
    // The addresses stay reserved: a use of freed memory by the host is a fault, too.
    void* const place = reinterpret_cast<void*>(start);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    mmap(place, block.mapped, PROT_NONE, flags, -1, 0);
    freed_.emplace(block.mapped, place);
    close(block.fd);
    blocks_.erase(found);
    count("held:memory", -1);
    return true;
  }

  // The memory that contains a range, or nullptr.
  const Block* find(uint64_t address, size_t length) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto found = blocks_.upper_bound(address);
    if (found == blocks_.begin()) return nullptr;
    const Block& block = (--found)->second;
    const uint64_t offset = address - block.start;
    return offset < block.size && length <= block.size - offset ? &block : nullptr;
  }

  // Copies between the host and memory. Returns false if neither address is of memory.
  bool copy(uint64_t to, uint64_t from, size_t length) {
    const auto bytes = static_cast<ssize_t>(length);
    if (const Block* block = find(to, length)) {
      const auto offset = static_cast<off_t>(to - block->start);
      return pwrite(block->fd, reinterpret_cast<const void*>(from), length, offset) == bytes;
    }
    if (const Block* block = find(from, length)) {
      const auto offset = static_cast<off_t>(from - block->start);
      return pread(block->fd, reinterpret_cast<void*>(to), length, offset) == bytes;
    }
    return false;
  }

 private:
  // Maps a file without access, where memory of the same size was freed or at a new address.
  void* map(int fd, size_t size) {
    const auto freed = freed_.find(size);
    void* const place = freed == freed_.end() ? nullptr : freed->second;
    if (place != nullptr) freed_.erase(freed);
    return mmap(place, size, PROT_NONE, MAP_SHARED | (place == nullptr ? 0 : MAP_FIXED), fd, 0);
  }

  size_t used(int device) const {
    size_t bytes = 0;
    for (const auto& [start, each] : blocks_) {
      if (each.device == device) bytes += each.size;
    }
    return bytes;
  }

  std::mutex mutex_;
  std::map<uint64_t, Block> blocks_;    // by address
  std::multimap<size_t, void*> freed_;  // addresses, by size
};

// A descriptor of the file of memory: softefa registers it as a dmabuf.
inline int openDmabuf(const Block& block) { return fcntl(block.fd, F_DUPFD_CLOEXEC, 0); }

}  // namespace fake

// The functions are looked up by their names.
#define FAKE extern "C" __attribute__((visibility("default")))
