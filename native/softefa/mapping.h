#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

#include "pages.h"

namespace softefa {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Owns a shared mapping of a part of a file.
class Mapping {
 public:
  Mapping() = default;
  // The flags are further ones of mmap(2).
  Mapping(const Fd& file, uint64_t offset, size_t size, int protection = PROT_READ | PROT_WRITE,
          int flags = 0)
      : size_(size) {
    data_ = ::mmap(nullptr, size, protection, MAP_SHARED | flags, file.get(),
                   static_cast<off_t>(offset));
    if (data_ == MAP_FAILED) {
      data_ = nullptr;
      throw std::system_error(errno, std::generic_category(), "mmap");
    }
  }
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Mapping() {
    if (data_ != nullptr) unmapOwn(data_, size_);
  }

  size_t size() const { return size_; }
  explicit operator bool() const { return data_ != nullptr; }
  template <class T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(static_cast<char*>(data_) + offset);
  }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace softefa
