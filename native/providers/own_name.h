#pragma once

#include <string>

#include "info.h"

namespace fab {

// The entry that an endpoint opens. shm names the file of an endpoint in /dev/shm after the pid,
// and takes over the file of a process that is not visible to it or that has its own pid. Such a
// process may be alive in another PID namespace that shares /dev/shm. The name therefore also
// contains the PID namespace, unless the caller has chosen a name.
std::shared_ptr<fi_info> withOwnName(const std::shared_ptr<fi_info>& entry);

// Whether the file of an shm endpoint belongs to a process of another PID namespace. shm would use
// its pid for process_vm_writev(2), and here another process may have this pid.
bool isOfOtherNamespace(const std::string& name);

}  // namespace fab
