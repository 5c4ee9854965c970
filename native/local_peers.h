#pragma once

#include <rdma/fabric.h>

#include <string>

namespace fab {

class Domain;

// Which domains of this process may reach which of its endpoints through shared memory.
// Process-wide and for any thread: a worker's endpoints meet those of the main thread.
//
// To a peer of its own process the shm provider (1.17 to 2.3 at least) gives an endpoint's own
// mapping, found by name in a list that nothing is ever taken out of. fi_close(3) unmaps it, and
// whoever has the peer or looks up its name crashes when it touches it: sends, answers, progress,
// fi_av_insert(3). So an endpoint that may still be reached is parked (parking.h), and the address
// of one that was closed is not inserted again.
namespace local_peers {

// The form in which an address is known here.
std::string nameOf(const fi_info& info, const void* address);

// An endpoint of the domain has this name. False: an endpoint that is parked has it still.
bool join(const std::string& name, const Domain& domain);
// The domain is about to insert the name. False: it is that of an endpoint that was closed.
bool meet(const std::string& name, const Domain& domain);
// Whether it is that of an open endpoint of this process.
bool isOwn(const std::string& name);
// The endpoint closes: nobody meets it any more. True: nobody has, and it may go.
bool leave(const std::string& name);
// Nothing of the domain runs any more.
void leave(const Domain& domain);
// Whether some domain may still reach an endpoint that is parked.
bool reachable(const std::string& name);
// Whether the domain has peers of other processes.
bool hasForeignPeers(const Domain& domain);

}  // namespace local_peers

}  // namespace fab
