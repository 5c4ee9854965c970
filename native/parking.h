#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "util/fid.h"

namespace fab {

// The closed endpoints of one domain that peers of this process may still reach (local_peers.h),
// and what libfabric does not close before them. It all is closed when the last of those peers'
// domains has closed. An endpoint of shm takes 3.8 MiB as long.
class Parking {
 public:
  Parking() = default;
  Parking(Parking&&) = default;
  Parking& operator=(Parking&&) = default;
  ~Parking();

  bool empty() const { return endpoints_.empty() && below_.empty(); }

  struct Parked {
    std::vector<std::shared_ptr<void>> memory;  // of what is posted
    Fid<fid_eq> events;                         // closes after the endpoint
    Fid<fid_ep> endpoint;
    std::string name;
    bool forever;  // fi_close(3) would not return
  };

  // Keeps an endpoint that has left its peers.
  void park(Parked endpoint) { endpoints_.push_back(std::move(endpoint)); }

  // Closes what endpoints use, or keeps it for those that are parked. Parents come after children.
  template <typename T>
  int close(Fid<T>& fid) {
    if (empty()) return fid.close();
    keep(std::make_shared<Fid<T>>(std::move(fid)));
    return 0;
  }
  void keep(std::shared_ptr<void> object) { below_.push_back(std::move(object)); }

  // Closes what can be closed by now. The caller holds the domain's engine.
  void sweep();

  // Keeps what is parked of a domain that has closed, until it can be closed.
  static void outlive(Parking parking);
  // Closes what can be closed by now of domains that have closed.
  static void sweepOrphans();

 private:
  std::list<Parked> endpoints_;
  std::vector<std::shared_ptr<void>> below_;
};

}  // namespace fab
