#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>

namespace fab {

class Domain;
class Endpoint;

// Records which domains of this process may reach which of its endpoints through shared memory. The
// record is process-wide and thread-safe, because endpoints of workers may reach those of the main
// thread.
//
// Within a process, the shm provider (1.17 to 2.3 at least) does not map a peer's memory again: it
// finds the endpoint's own mapping by name in a list from which it never removes entries.
// fi_close(3) unmaps the memory. Any later access by an endpoint that has this peer, or that looks
// up its name, crashes: sends, replies, progress and fi_av_insert(3). Therefore an endpoint that
// may still be reached is parked (parking.h), and the address of a closed endpoint is not inserted
// again.
namespace local_peers {

// The key of an address in this record.
std::string nameOf(const fi_info& info, const void* address);

// Adds an endpoint of the domain. Returns false if a parked endpoint still has this name.
bool addEndpoint(const std::string& name, const Domain& domain, std::weak_ptr<Endpoint> endpoint);
// The open endpoint of this process that has the name; null if there is none.
std::shared_ptr<Endpoint> endpointOf(const std::string& name);
// Records the handshake between two endpoints: shm_handshake.h. Returns false if it was recorded
// before.
bool addHandshake(const std::string& one, const std::string& other);
// Records that the domain inserts the name. Returns false if the name's endpoint was closed.
bool addPeer(const std::string& name, const Domain& domain);
// Records that the domain no longer reaches the name.
void removePeer(const std::string& name, const Domain& domain);
// Whether an open endpoint of this process has the name.
bool isOwn(const std::string& name);
// Removes a closing endpoint. Returns true if no domain can reach it, so that it may be closed.
bool removeEndpoint(const std::string& name);
// Removes a domain that no longer runs.
void removeDomain(const Domain& domain);
// Whether a domain may still reach a parked endpoint.
bool reachable(const std::string& name);
// Whether the domain has peers in other processes.
bool hasForeignPeers(const Domain& domain);

}  // namespace local_peers

}  // namespace fab
