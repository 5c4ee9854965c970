#include "faults.h"

namespace softefa {
namespace {

bool takeOne(std::atomic<uint32_t>& count) {
  uint32_t left = count.load();
  while (left != 0 && left != FaultRule::kAny) {
    if (count.compare_exchange_weak(left, left - 1)) return true;
  }
  return left != 0;
}

}  // namespace

bool Faults::match(Fault fault, uint32_t nic, uint32_t qpn, uint32_t* value, bool take) {
  for (FaultRule& rule : knobs_.rules) {
    if (rule.fault.load(std::memory_order_acquire) != static_cast<uint32_t>(fault)) continue;
    if (rule.nic != FaultRule::kAny && rule.nic != nic) continue;
    if (rule.qpn != FaultRule::kAny && qpn != FaultRule::kAny && rule.qpn != qpn) continue;
    if (take && takeOne(rule.after)) continue;
    if (take ? !takeOne(rule.count) : rule.count == 0) continue;
    if (value != nullptr) *value = rule.value;
    ++rule.hits;
    return true;
  }
  return false;
}

}  // namespace softefa
