#pragma once

#include <node_api.h>

#include <memory>
#include <vector>

namespace fab {

class Domain;

// Shuts the domain down when the process exits. process.exit() runs no cleanup hooks, and no engine
// may run while libfabric's destructors run.
void shutdownAtExit(const std::shared_ptr<Domain>& domain);
void forgetAtExit(const Domain* domain);
// The domains of all environments of the process.
std::vector<std::shared_ptr<Domain>> openDomains();
// Stops the drivers of all domains of an ending environment, before the first domain is closed. efa
// aborts the process if its write through shm to a region of a closed domain fails.
void stopDriversOf(napi_env env);

}  // namespace fab
