#pragma once

#include <node_api.h>

#include <memory>
#include <vector>

namespace fab {

class Domain;

// Domains to shut down when the process exits. process.exit() runs no cleanup hooks, and no engine
// may be turning while libfabric's destructors run.
void shutdownAtExit(const std::shared_ptr<Domain>& domain);
void forgetAtExit(const Domain* domain);
// The domains of all environments of the process.
std::vector<std::shared_ptr<Domain>> openDomains();
// A domain could not be closed: the process ends without the destructors of libfabric, which may
// wait for the same as its engine.
void loseProcess();
// Ends the turning of all domains of an environment that goes away, before the first is closed: efa
// aborts the process where what it writes through shm to a region of a closed one fails.
void stopDriversOf(napi_env env);

}  // namespace fab
