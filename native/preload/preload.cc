// What has to be in the process before libfabric is loaded: its environment, and the software EFA
// device where it is asked for. It is done natively, and before the addon that links libfabric: the
// process.env of a worker is a copy that getenv never sees.
#include <dlfcn.h>
#include <node_api.h>
#include <strings.h>

#include <cstdlib>
#include <initializer_list>
#include <mutex>
#include <string>

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

// Nothing the user has set is overridden.
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

std::string stringOf(napi_env env, napi_value value) {
  size_t length = 0;
  napi_get_value_string_utf8(env, value, nullptr, 0, &length);
  std::string text(length, '\0');
  napi_get_value_string_utf8(env, value, text.data(), length + 1, &length);
  return text;
}

bool isLoaded(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

// loadGlobal(path, name, value, name, value, ...): sets the variables, then loads a library whose
// symbols take precedence over those of libraries to come. Returns undefined, or why it did not.
napi_value loadGlobal(napi_env env, napi_callback_info info) {
  constexpr size_t kMost = 64;
  napi_value args[kMost];
  size_t count = kMost;
  napi_get_cb_info(env, info, &count, args, nullptr, nullptr);
  std::string failure;
  const std::string path = stringOf(env, args[0]);
  if (isLoaded(path.c_str())) {
    failure = path + " is loaded already";
  } else if (isLoaded("libfabric.so.1")) {
    failure = "libfabric is loaded already, and " + path + " must come before it";
  } else {
    for (size_t i = 1; i + 1 < count; i += 2) {
      setenv(stringOf(env, args[i]).c_str(), stringOf(env, args[i + 1]).c_str(), 1);
    }
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      failure = dlerror();
    }
  }
  napi_value result = nullptr;
  if (!failure.empty()) {
    napi_create_string_utf8(env, failure.c_str(), failure.size(), &result);
  }
  return result;
}

}  // namespace

NAPI_MODULE_INIT() {
  static std::once_flag once;
  std::call_once(once, prepareEnvironment);
  napi_value function;
  if (napi_create_function(env, "loadGlobal", NAPI_AUTO_LENGTH, loadGlobal, nullptr, &function) ==
      napi_ok) {
    napi_set_named_property(env, exports, "loadGlobal", function);
  }
  return exports;
}
