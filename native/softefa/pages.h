#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace softefa {

constexpr size_t kPage = 4096;

// unmapping.cc: munmap(2) of memory of the device itself, which no program has registered.
void unmapOwn(void* data, size_t size);

// Pages of memory of this process, initially zero.
class Pages {
 public:
  explicit Pages(size_t size) : size_((size + kPage - 1) & ~(kPage - 1)) {
    data_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  }
  Pages(const Pages&) = delete;
  ~Pages() { unmapOwn(data_, size_); }

  template <class T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(static_cast<char*>(data_) + offset);
  }

 private:
  size_t size_;
  void* data_;
};

}  // namespace softefa
