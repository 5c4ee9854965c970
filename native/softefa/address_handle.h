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

constexpr uint32_t kNowhere = ~0u;

struct AddressHandle {
  ibv_ah verbs;  // first
  uint16_t number;
  uint32_t destination;  // NicAddress::key(), kNowhere: of a GID that no softefa has
  std::string gid;
};

// The address handles of a device. Those of one GID share a number, by which completions name the
// sender.
class AddressHandles {
 public:
  // Nothing, and errno, if there are too many.
  AddressHandle* create(ibv_pd* pd, const ibv_ah_attr& attributes);
  void destroy(AddressHandle* handle);
  // The number of a sender's NIC, kUnknownAhn if there is no handle for it.
  uint16_t numberOf(uint32_t nic);
  // The NIC that a number stands for, if any does.
  std::optional<uint32_t> destinationOf(uint16_t number);
  // Rises with every change to what numberOf answers.
  uint32_t epoch() const { return epoch_.load(std::memory_order_acquire); }

 private:
  struct Numbered {
    uint16_t number;
    uint32_t users;
  };

  std::mutex mutex_;
  std::unordered_map<std::string, Numbered> byGid_;
  std::unordered_map<uint32_t, uint16_t> byNic_;
  std::vector<std::optional<uint32_t>> byNumber_;
  std::vector<uint16_t> free_;
  uint16_t next_ = 0;
  std::atomic<uint32_t> epoch_{1};
};

}  // namespace softefa
