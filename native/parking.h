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

// What is closed for its users and cannot be freed, of one domain: endpoints that peers of this
// process may still reach (local_peers.h), which are closed when the last of those peers' domains
// has closed (an endpoint of shm takes 3.8 MiB as long); endpoints that fi_close(3) would wait for,
// perhaps for ever; a domain that the provider refused to close; and what libfabric does not close
// before them.
class Parking {
 public:
  Parking() = default;
  Parking(Parking&&) = default;
  Parking& operator=(Parking&&) = default;
  ~Parking();

  bool empty() const { return endpoints_.empty() && below_.empty(); }
  // Endpoints that stay until the process ends.
  size_t stuck() const;

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
  // Keeps it all until the process ends: the domain was refused, with this fi_errno(3).
  void refuse(int error) { refused_ = error; }
  // Whose it is.
  void describe(std::string provider, std::string domain) {
    provider_ = std::move(provider);
    domain_ = std::move(domain);
  }

  // Closes what can be closed by now. The caller holds the domain's engine.
  void sweep();

  // Keeps what is parked of a domain that has closed, until it can be closed.
  static void outlive(Parking parking);
  // Closes what can be closed by now of domains that have closed.
  static void sweepOrphans();

  struct Summary {
    std::string provider;
    std::string domain;
    size_t endpoints;
    int refused;
  };
  // What is parked of domains that have closed.
  static std::vector<Summary> orphans();

 private:
  std::list<Parked> endpoints_;
  std::vector<std::shared_ptr<void>> below_;
  int refused_ = 0;
  std::string provider_;
  std::string domain_;
};

}  // namespace fab
