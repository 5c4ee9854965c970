#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace accelerator {

// Owns the descriptor of a dmabuf.
class Descriptor {
 public:
  // Child processes must not inherit it, and not all libraries prevent that.
  explicit Descriptor(int fd) : fd_(fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void close() {
    if (fd_ >= 0) ::close(fd_);
    abandon();
  }
  // Leaves it open until the process ends.
  void abandon() { fd_ = -1; }

 private:
  int fd_;
};

}  // namespace accelerator
