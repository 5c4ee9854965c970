#pragma once

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <atomic>
#include <bitset>
#include <cstddef>
#include <mutex>

#include "address_handle.h"
#include "counters.h"
#include "device_attributes.h"
#include "forks.h"
#include "handle.h"
#include "knobs.h"
#include "nic_address.h"
#include "shared_part.h"

namespace softefa {

struct Device {
  ibv_device verbs;  // first
  uint32_t nic;
};

struct ProtectionDomain {
  ibv_pd verbs;  // first
  std::atomic<int> users{0};
  ProtectionDomain* original = nullptr;  // of a ParentDomain: the domain that it wraps
};

struct MemoryRegion {
  ibv_mr verbs;  // first
  uint64_t pinned = 0;
  ProtectionDomain* domain = nullptr;
  SharedPart memory;  // of a dmabuf: where the device reaches the bytes
};

// An opened device.
class Context {
 public:
  explicit Context(Device& device);
  ~Context();

  static Context& of(ibv_context* context) {
    return Handle<verbs_context, Context>::ownerOf(reinterpret_cast<char*>(context) -
                                                   offsetof(verbs_context, context));
  }
  ibv_context* verbs() { return &handle_.verbs.context; }
  uint32_t nic() const { return nic_; }
  // Whether a parent of this process has opened it. The child then leaves its objects alone.
  bool isInherited() const { return depth_ != forkDepth(); }
  NicAddress address() const;
  NicCounters& counters() const { return counters_; }
  AddressHandles& addressHandles() { return addressHandles_; }
  // The device's capabilities, from the options and the knobs.
  static uint32_t capabilities();
  bool portUp() const;
  // The errno with which an injected fault lets a call on this NIC fail, or 0.
  int refusal(Fault fault) const;

  int queryDevice(ibv_device_attr_ex& attributes) const;
  int queryPort(uint8_t port, ibv_port_attr& attributes) const;

  // Counts the success or failure of a control-path call, and returns its error.
  int command(int error, Count* failures = nullptr) const;

  // The objects of the device and their limits.
  struct Quota {
    std::atomic<uint32_t> used{0};
    bool take(uint32_t limit) {
      if (used.fetch_add(1) < limit) return true;
      --used;
      return false;
    }
    void give() { --used; }
  };
  Quota pds, cqs, completionCounters;

  // The low bits of a queue pair number. They do not repeat within an open device.
  int takeQpIndex();
  void giveQpIndex(uint32_t qpn);

 private:
  const unsigned depth_ = forkDepth();
  uint32_t nic_;
  NicCounters& counters_;
  AddressHandles addressHandles_{nic_};
  std::mutex mutex_;
  std::bitset<kMaxQp> qpIndices_;
  uint32_t lastQpIndex_ = 0;
  Handle<verbs_context, Context> handle_{*this};
};

}  // namespace softefa
