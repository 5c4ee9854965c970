#include "link.h"

#include <algorithm>

#include "clock.h"
#include "nic_address.h"
#include "runtime.h"

namespace softefa {
namespace {

constexpr uint64_t kMegabyte = 1000000;
constexpr double kSecond = 1e9;

// The bytes per second of a NIC, 0: no limit.
uint64_t rateOf(const LinkEnd& end) {
  const NicAddress address{static_cast<uint16_t>(end.process.node), static_cast<uint16_t>(end.nic)};
  uint32_t megabytes = 0;
  if (Runtime::get().faults().holds(Fault::kRate, address.key(), FaultRule::kAny, &megabytes)) {
    return megabytes * kMegabyte;
  }
  return end.process.rate;
}

// Occupies a link from `begin` on, or from the time when the link is free. Returns the end of this
// time.
uint64_t occupy(std::atomic<uint64_t>& busyUntil, uint64_t begin, uint64_t nanoseconds) {
  uint64_t free = busyUntil.load(std::memory_order_relaxed);
  uint64_t end;
  do {
    end = std::max(free, begin) + nanoseconds;
  } while (!busyUntil.compare_exchange_weak(free, end, std::memory_order_relaxed));
  return end;
}

uint64_t nanosecondsFor(uint64_t bytes, uint64_t rate) {
  return static_cast<uint64_t>(static_cast<double>(bytes) * kSecond / static_cast<double>(rate));
}

}  // namespace

uint64_t carry(uint64_t bytes, const LinkEnd& from, const LinkEnd& to) {
  const uint64_t sends = rateOf(from), receives = rateOf(to);
  if (sends == 0 && receives == 0) return 0;
  const uint64_t begin = now();
  uint64_t end = 0;
  if (sends != 0) {
    end = occupy(from.process.links[from.nic].sends, begin, nanosecondsFor(bytes, sends));
  }
  if (receives == 0) return end;
  // From now on, although the bytes may come later: otherwise a slow sender would block the link
  // for others until then.
  return std::max(
      end, occupy(to.process.links[to.nic].receives, begin, nanosecondsFor(bytes, receives)));
}

}  // namespace softefa
