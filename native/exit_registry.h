#pragma once

#include <node_api.h>

#include <memory>

namespace fab {

class Domain;

// Domains to shut down when the process exits. process.exit() runs no cleanup hooks, and no engine
// may be turning while libfabric's destructors run. The one thing that is process-wide.
void shutdownAtExit(const std::shared_ptr<Domain>& domain);
void forgetAtExit(const Domain* domain);
// Ends the turning of all domains of an environment that goes away, before the first is closed: shm
// endpoints of one process use each other's memory.
void stopDriversOf(napi_env env);

}  // namespace fab
