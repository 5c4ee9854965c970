#include "parking.h"

#include <algorithm>
#include <mutex>

#include "local_peers.h"

namespace fab {

namespace {

struct Orphans {
  std::mutex mutex;
  std::vector<Parking> parkings;
};

// Never destroyed: it is used while static objects are.
Orphans& orphans() {
  static Orphans& instance = *std::make_unique<Orphans>().release();
  return instance;
}

}  // namespace

Parking::~Parking() {
  endpoints_.clear();
  for (auto& object : below_) object.reset();
}

void Parking::sweep() {
  endpoints_.remove_if(
      [](const Parked& parked) { return !parked.forever && !local_peers::reachable(parked.name); });
  if (!endpoints_.empty()) return;
  for (auto& object : below_) object.reset();
  below_.clear();
}

void Parking::outlive(Parking parking) {
  const std::lock_guard<std::mutex> lock(orphans().mutex);
  orphans().parkings.push_back(std::move(parking));
}

void Parking::sweepOrphans() {
  const std::lock_guard<std::mutex> lock(orphans().mutex);
  auto& parkings = orphans().parkings;
  for (Parking& parking : parkings) parking.sweep();
  parkings.erase(std::remove_if(parkings.begin(), parkings.end(),
                                [](const Parking& parking) { return parking.empty(); }),
                 parkings.end());
}

}  // namespace fab
