#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <utility>

namespace fab {

// Owns one libfabric object and closes it with fi_close(3). Move-only.
template <typename T>
class Fid {
 public:
  Fid() = default;
  Fid(const Fid&) = delete;
  Fid& operator=(const Fid&) = delete;
  Fid(Fid&& other) noexcept : fid_(std::exchange(other.fid_, nullptr)) {}
  Fid& operator=(Fid&& other) noexcept {
    close();
    fid_ = std::exchange(other.fid_, nullptr);
    return *this;
  }
  ~Fid() { close(); }

  // Returns fi_close's result; a refused object (FI_EBUSY) stays owned.
  int close() noexcept {
    if (fid_ == nullptr) return FI_SUCCESS;
    const int ret = fi_close(&fid_->fid);
    if (ret == FI_SUCCESS) fid_ = nullptr;
    return ret;
  }

  // Releases ownership: the object stays open until the process ends.
  void leak() noexcept { fid_ = nullptr; }

  T* get() const { return fid_; }
  T* operator->() const { return fid_; }
  T** out() { return &fid_; }
  explicit operator bool() const { return fid_ != nullptr; }

 private:
  T* fid_ = nullptr;
};

}  // namespace fab
