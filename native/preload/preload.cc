// The environment libfabric wants to find when it is loaded. It is set natively, before the addon
// that links libfabric: the process.env of a worker is a copy that getenv never sees. Nothing the
// user has set is overridden.
#include <node_api.h>
#include <strings.h>

#include <cstdlib>
#include <initializer_list>
#include <mutex>

namespace {

bool isSet(const char* name) { return std::getenv(name) != nullptr; }

// True, as libfabric reads a boolean.
bool isTrue(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return false;
  for (const char* word : {"1", "true", "yes", "on"}) {
    if (strcasecmp(value, word) == 0) return true;
  }
  return false;
}

void prepareEnvironment() {
  // The psm providers install signal handlers at load, which change how the process dies.
  for (const char* name : {"IPATH_NO_BACKTRACE", "HFI_NO_BACKTRACE"}) setenv(name, "1", 0);

  // Without fork support the efa provider aborts the process at its first fork(), and libuv forks
  // for child_process. Where the kernel and rdma-core copy registered pages on fork (5.13, 35.0),
  // the provider finds that out first and never reads the variable, so it costs nothing there.
  // Elsewhere it costs the provider its huge pages, so who asked for those keeps them: efa refuses
  // the two together.
  if (!isTrue("FI_EFA_USE_HUGE_PAGE") && !isSet("RDMAV_HUGEPAGES_SAFE")) {
    setenv("FI_EFA_FORK_SAFE", "1", 0);
  }
}

}  // namespace

NAPI_MODULE_INIT() {
  static std::once_flag once;
  std::call_once(once, prepareEnvironment);
  napi_value prepared;
  if (napi_get_boolean(env, true, &prepared) == napi_ok) {
    napi_set_named_property(env, exports, "prepared", prepared);
  }
  return exports;
}
