#include "pointers_in_use.h"

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>

namespace fab {
namespace {

struct Range {
  uint32_t iface;
  uint64_t start;
  uint64_t length;

  bool overlaps(const Range& other) const {
    if (iface != other.iface) return false;
    return start < other.start ? other.start - start < length : start - other.start < other.length;
  }
};

// Workers and the threads of engines share this object.
class Ranges {
 public:
  // Each reference keeps the object for regions that are released while the process exits.
  static const std::shared_ptr<Ranges>& ofProcess() {
    static const auto ranges = std::make_shared<Ranges>();
    return ranges;
  }

  std::list<Range>::iterator add(const Range& range) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ranges_.insert(ranges_.end(), range);
  }

  void remove(std::list<Range>::iterator range) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_.erase(range);
  }

  bool overlap(const Range& range) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [&](const Range& each) { return each.overlaps(range); });
  }

 private:
  std::mutex mutex_;
  std::list<Range> ranges_;
};

}  // namespace

Backing usePointer(uint32_t iface, uint64_t start, uint64_t length) {
  const auto ranges = Ranges::ofProcess();
  const auto added = ranges->add({iface, start, length});
  return {ranges.get(), [ranges, added](void*) { ranges->remove(added); }};
}

}  // namespace fab

bool libfabricPointerInUse(uint32_t iface, uint64_t start, uint64_t length) {
  return fab::Ranges::ofProcess()->overlap({iface, start, length});
}
