#pragma once

#include <unistd.h>

#include <utility>

#include "mapping.h"

namespace softefa {

// A part of a caller's file at any offset: a dmabuf, or a stand-in for one.
class SharedPart {
 public:
  SharedPart() = default;
  // Throws std::system_error.
  SharedPart(int fd, uint64_t offset, size_t size, int protection = PROT_READ | PROT_WRITE) {
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const Fd file(::dup(fd));
    if (!file) throw std::system_error(errno, std::generic_category(), "dup");
    start_ = offset % page;
    // All pages are mapped now, as a registration pins them, and not by the first operations.
    mapping_ = Mapping(file, offset - start_, start_ + size, protection, MAP_POPULATE);
  }

  explicit operator bool() const { return static_cast<bool>(mapping_); }
  template <class T>
  T* at() const {
    return mapping_.at<T>(start_);
  }

 private:
  Mapping mapping_;
  size_t start_ = 0;
};

}  // namespace softefa
