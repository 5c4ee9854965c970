#include "parking.h"

#include <algorithm>
#include <mutex>

#include "local_peers.h"

namespace fab {

namespace {

struct Orphans {
  std::mutex mutex;
  std::vector<Parking> parkings;
  uint64_t checks = 0;  // calls of closeUnreachableOrphans()
};

// Never destroyed, because it is used while static objects are destroyed.
Orphans& all() {
  static Orphans& instance = *std::make_unique<Orphans>().release();
  return instance;
}

}  // namespace

Parking::~Parking() {
  endpoints_.clear();
  for (auto& object : below_) object.reset();
}

size_t Parking::stuck() const {
  const auto isStuck = [](const Parked& parked) { return parked.forever; };
  return static_cast<size_t>(std::count_if(endpoints_.begin(), endpoints_.end(), isStuck));
}

// A refused domain is not closed again: if rxm refuses to close a domain (FI_EBUSY, because of an
// interrupted rendezvous), it has already closed half of it, and a second attempt frees memory
// twice.
void Parking::closeUnreachable() {
  if (refused_ != 0) return;
  // An endpoint whose fi_close(3) is refused stays, for the next attempt.
  endpoints_.remove_if([](Parked& parked) {
    return !parked.forever && !local_peers::reachable(parked.name) && parked.endpoint.close() == 0;
  });
  if (!endpoints_.empty()) return;
  for (auto& object : below_) object.reset();
  below_.clear();
}

void Parking::orphan(Parking parking) {
  const std::lock_guard<std::mutex> lock(all().mutex);
  all().parkings.push_back(std::move(parking));
}

// Closes without holding the mutex: if a provider call does not return, other threads must not wait
// for this thread. A thread that checks in the meantime does not find the parkings, so this thread
// then checks again.
void Parking::closeUnreachableOrphans() {
  auto& [mutex, kept, checks] = all();
  std::unique_lock<std::mutex> lock(mutex);
  uint64_t check = ++checks;
  for (;;) {
    std::vector<Parking> parkings;
    parkings.swap(kept);
    lock.unlock();
    for (Parking& parking : parkings) parking.closeUnreachable();
    lock.lock();
    for (Parking& parking : parkings) {
      if (!parking.empty()) kept.push_back(std::move(parking));
    }
    if (checks == check) return;
    check = checks;
  }
}

std::vector<Parking::Summary> Parking::orphans() {
  closeUnreachableOrphans();
  const std::lock_guard<std::mutex> lock(all().mutex);
  std::vector<Summary> summaries;
  for (const Parking& parking : all().parkings) {
    summaries.push_back(
        {parking.provider_, parking.domain_, parking.endpoints_.size(), parking.refused_});
  }
  return summaries;
}

}  // namespace fab
