#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../util/fid.h"

namespace fab {

// The objects of one domain that are closed for the program but cannot be freed yet:
//
// - Endpoints that peers in this process may still reach (local_peers.h). They are closed when the
//   last of these peers' domains has closed. Until then an shm endpoint takes 3.8 MiB.
// - Endpoints whose fi_close(3) would wait for operations in flight, perhaps forever.
// - A domain that the provider refused to close.
// - The objects that these use, which libfabric does not close before them.
class Parking {
 public:
  Parking() = default;
  Parking(Parking&&) = default;
  Parking& operator=(Parking&&) = default;
  ~Parking();

  bool empty() const { return endpoints_.empty() && below_.empty(); }
  // The number of endpoints that stay until the process ends.
  size_t stuck() const;

  struct Parked {
    std::vector<std::shared_ptr<void>> memory;  // of posted operations
    Fid<fid_eq> events;                         // closes after the endpoint
    Fid<fid_ep> endpoint;
    std::string name;
    bool forever;  // fi_close(3) would not return
  };

  // Keeps an endpoint that was removed from local_peers.
  void park(Parked endpoint) { endpoints_.push_back(std::move(endpoint)); }

  // Closes an object that endpoints use, or keeps it for parked endpoints. Children must be passed
  // before their parents.
  template <typename T>
  int close(Fid<T>& fid) {
    if (empty()) return fid.close();
    keep(std::make_shared<Fid<T>>(std::move(fid)));
    return 0;
  }
  void keep(std::shared_ptr<void> object) { below_.push_back(std::move(object)); }
  // Keeps everything until the process ends, because fi_close(3) refused the domain with this
  // error.
  void refuse(int error) { refused_ = error; }
  // Sets the names of the provider and the domain.
  void describe(std::string provider, std::string domain) {
    provider_ = std::move(provider);
    domain_ = std::move(domain);
  }

  // Closes the objects that nothing can reach any more. The caller holds the domain's engine.
  void closeUnreachable();

  // Takes over the parked objects of a closed domain, until they can be closed.
  static void orphan(Parking parking);
  // Closes the objects of closed domains that nothing can reach any more.
  static void closeUnreachableOrphans();

  struct Summary {
    std::string provider;
    std::string domain;
    size_t endpoints;
    int refused;
  };
  // Describes the parked objects of closed domains.
  static std::vector<Summary> orphans();

 private:
  std::list<Parked> endpoints_;
  std::vector<std::shared_ptr<void>> below_;
  int refused_ = 0;
  std::string provider_;
  std::string domain_;
};

}  // namespace fab
