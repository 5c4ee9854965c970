#pragma once

#include "knobs.h"

namespace softefa {

// Reads the faults to inject from the knobs of the namespace.
class Faults {
 public:
  explicit Faults(Knobs& knobs) : knobs_(knobs) {}

  bool engaged() const { return knobs_.engaged.load(std::memory_order_relaxed) != 0; }
  uint32_t capabilities() const {
    const uint32_t mask = knobs_.capabilities.load(std::memory_order_relaxed);
    return engaged() && mask != 0 ? mask : ~0u;
  }
  // The delay before an operation from one NIC to another starts.
  uint64_t delayNs(uint32_t from, uint32_t to) {
    uint32_t us = 0;
    if (!holds(Fault::kDelay, from, FaultRule::kAny, &us)) {
      holds(Fault::kDelay, to, FaultRule::kAny, &us);
    }
    return engaged() ? (uint64_t{knobs_.delayUs} + us) * 1000 : 0;
  }
  uint64_t reorderNs() const { return engaged() ? uint64_t{knobs_.reorderUs} * 1000 : 0; }
  uint32_t dropPerMille() const { return engaged() ? knobs_.dropPerMille.load() : 0; }
  uint32_t duplicatePerMille() const { return engaged() ? knobs_.duplicatePerMille.load() : 0; }

  // Whether a rule applies. Decrements the rule's count and returns its `value`.
  bool applies(Fault fault, uint32_t nic, uint32_t qpn, uint32_t* value = nullptr) {
    return engaged() && match(fault, nic, qpn, value, true);
  }
  // The same without decrementing the count, for lasting conditions.
  bool holds(Fault fault, uint32_t nic, uint32_t qpn, uint32_t* value = nullptr) {
    return engaged() && match(fault, nic, qpn, value, false);
  }

 private:
  bool match(Fault fault, uint32_t nic, uint32_t qpn, uint32_t* value, bool take);

  Knobs& knobs_;
};

}  // namespace softefa
