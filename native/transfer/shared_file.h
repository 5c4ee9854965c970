#pragma once

#include <node_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace fab::transfer {

// Memory of this process that other processes of the same user can map: an anonymous file
// (memfd_create(2)) that cannot shrink.
class SharedFile {
 public:
  // The name of the files of an engine, by which peers recognize them.
  static std::string nameFor(uint64_t engine);
  // Returns null, with errno, if the memory is not available.
  static std::shared_ptr<SharedFile> create(const std::string& name, size_t size, bool hugePages);

  SharedFile(int fd, void* memory, size_t size, bool hugePages)
      : fd_(fd), memory_(memory), size_(size), hugePages_(hugePages) {}
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile();

  uint8_t* data() const { return static_cast<uint8_t*>(memory_); }
  size_t size() const { return size_; }  // whole pages
  int fd() const { return fd_; }
  // Its number among the files of its kind, 0 if it has none.
  uint64_t inode() const;

 private:
  const int fd_;
  void* const memory_;
  const size_t size_;
  const bool hugePages_;
};

// The memory of another process, or of this one, mapped from its file.
class Mapping {
 public:
  // Returns null, with errno, if the file cannot be mapped or may shrink. If the file shrank, an
  // access would end the process.
  static std::shared_ptr<Mapping> open(int fd, bool writable);

  Mapping(int fd, void* memory, size_t size) : fd_(fd), memory_(memory), size_(size) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  uint8_t* data() const { return static_cast<uint8_t*>(memory_); }
  size_t size() const { return size_; }

 private:
  friend class Copying;

  // Any thread may call these functions. begin() returns false if the owner has ended the offer.
  bool begin(uint64_t offer);
  void end(uint64_t offer);

  const int fd_;
  void* const memory_;
  const size_t size_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, uint32_t> running_;  // transfers by offer
};

// Shows the owner of the file, while this object exists, that a transfer copies for an offer. The
// object holds a lock (fcntl(2), F_OFD_SETLK) on the byte of the file whose number is the serial
// number of the offer. The kernel releases the lock when the process ends, so the owner needs no
// answer. The kernel does not release it when a worker ends. The transfer must therefore not
// outlive the rails that copy for it (TransferEngine::railEnded()).
class Copying {
 public:
  // Returns null if the owner has ended the offer.
  static std::unique_ptr<Copying> begin(std::shared_ptr<Mapping> mapping, uint64_t offer);

  Copying(std::shared_ptr<Mapping> mapping, uint64_t offer)
      : mapping_(std::move(mapping)), offer_(offer) {}
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;
  ~Copying() { mapping_->end(offer_); }

 private:
  const std::shared_ptr<Mapping> mapping_;
  const uint64_t offer_;
};

// Called by the owner of the file. Ends an offer: no copy for it begins any more. Returns false
// while a transfer copies.
bool endCopies(int fd, uint64_t offer);

// JavaScript's reference to a mapping. Running transfers have their own references.
struct MappingHold {
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6d70000000000001};
  static constexpr const char* kName = "Mapping";

  std::shared_ptr<Mapping> mapping;
};

}  // namespace fab::transfer
