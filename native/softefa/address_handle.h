#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace softefa {

struct ProtectionDomain;

constexpr uint32_t kNowhere = ~0u;

struct AddressHandle {
  ibv_ah verbs;  // first
  uint16_t number;
  uint32_t destination;  // NicAddress::key(), kNowhere if no softefa device has the GID
  std::string gid;
  ProtectionDomain* domain;
};

// The address handles of a device. Handles of the same GID share a number. Completions use this
// number to name the sender.
class AddressHandles {
 public:
  explicit AddressHandles(uint32_t nic) : nic_(nic) {}

  // Returns nullptr and sets errno if there are too many.
  AddressHandle* create(ibv_pd* pd, const ibv_ah_attr& attributes);
  void destroy(AddressHandle* handle);
  // The number of a sender's NIC; kUnknownAhn if the NIC has no handle.
  uint16_t numberOf(uint32_t nic);
  // The NIC of a number, if there is one.
  std::optional<uint32_t> destinationOf(uint16_t number);
  // Increases whenever a result of numberOf() changes.
  uint32_t epoch() const { return epoch_.load(std::memory_order_acquire); }

 private:
  struct Numbered {
    uint16_t number;
    uint32_t users;
  };

  // Adds a GID that has no handle yet. Returns an errno.
  int add(const AddressHandle& handle);

  const uint32_t nic_;
  std::mutex mutex_;
  std::unordered_map<std::string, Numbered> byGid_;
  std::unordered_map<uint32_t, uint16_t> byNic_;
  std::vector<std::optional<uint32_t>> byNumber_;
  std::vector<uint16_t> free_;
  uint16_t next_ = 0;
  std::atomic<uint32_t> epoch_{1};
};

}  // namespace softefa
