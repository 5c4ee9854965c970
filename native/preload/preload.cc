// Prepares the process before libfabric is loaded: sets its environment variables, and loads the
// software EFA device on request. This must be native code that runs before the addon that links
// libfabric, because process.env of a worker is a copy that getenv does not see.
#include <dlfcn.h>
#include <node_api.h>
#include <strings.h>

#include <atomic>
#include <cstdlib>
#include <initializer_list>
#include <mutex>
#include <string>

namespace {

bool isSet(const char* name) { return std::getenv(name) != nullptr; }

// Whether a variable is true, as libfabric parses a boolean.
bool isTrue(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return false;
  for (const char* word : {"1", "true", "yes", "on"}) {
    if (strcasecmp(value, word) == 0) return true;
  }
  return false;
}

// Does not override variables that the user has set.
void prepareEnvironment() {
  // The psm providers install signal handlers when they are loaded. The handlers would change how
  // the process ends.
  for (const char* name : {"IPATH_NO_BACKTRACE", "HFI_NO_BACKTRACE"}) setenv(name, "1", 0);

  // Without fork support the efa provider aborts the process at its first fork(), and libuv forks
  // for child_process. If the kernel (5.13) and rdma-core (35.0) copy registered pages on fork, the
  // provider detects this first and never reads the variable. Otherwise the variable disables the
  // provider's huge pages. If the user asked for huge pages, leave the variable unset: efa refuses
  // both together.
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

// Whether libsoftefa.so was loaded only for its namespace functions, with local symbols.
std::atomic<bool> loadedLocally{false};

// loadGlobal(path, name, value, name, value, ...): sets the variables, then loads a library whose
// symbols take precedence over those of libraries loaded later. Returns undefined, or the reason
// for a failure.
napi_value loadGlobal(napi_env env, napi_callback_info info) {
  constexpr size_t kMost = 64;
  napi_value args[kMost];
  size_t count = kMost;
  napi_get_cb_info(env, info, &count, args, nullptr, nullptr);
  std::string failure;
  const std::string path = stringOf(env, args[0]);
  if (isLoaded(path.c_str()) && !loadedLocally.exchange(false)) {
    failure = path + " is already loaded";
  } else if (isLoaded("libfabric.so.1")) {
    failure = "libfabric is already loaded, and " + path +
              " must be loaded before it: load it before any other call of this package";
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

// A function of libsoftefa.so; nullptr, with an exception pending, if there is none.
template <class Function>
Function* softefaFunction(napi_env env, napi_value library, const char* name) {
  const std::string path = stringOf(env, library);
  if (!isLoaded(path.c_str())) loadedLocally = true;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* found = handle != nullptr ? dlsym(handle, name) : nullptr;
  if (found == nullptr) napi_throw_error(env, nullptr, dlerror());
  return reinterpret_cast<Function*>(found);
}

constexpr size_t kFailureSize = 512;

// enterNamespace(library, directory, name): joins a namespace of software devices without opening a
// device. Returns [its folder, the handle for leaveNamespace()].
napi_value enterNamespace(napi_env env, napi_callback_info info) {
  napi_value args[3];
  size_t count = 3;
  napi_get_cb_info(env, info, &count, args, nullptr, nullptr);
  auto* enter = softefaFunction<void*(const char*, const char*, char*, size_t)>(env, args[0],
                                                                                "softefa_enter");
  auto* folderOf = softefaFunction<const char*(void*)>(env, args[0], "softefa_folder");
  if (enter == nullptr || folderOf == nullptr) return nullptr;
  char failure[kFailureSize] = "";
  void* space = enter(stringOf(env, args[1]).c_str(), stringOf(env, args[2]).c_str(), failure,
                      sizeof(failure));
  if (space == nullptr) {
    napi_throw_error(env, nullptr, failure);
    return nullptr;
  }
  napi_value folder, handle, both;
  napi_create_string_utf8(env, folderOf(space), NAPI_AUTO_LENGTH, &folder);
  napi_create_external(env, space, nullptr, nullptr, &handle);
  napi_create_array_with_length(env, 2, &both);
  napi_set_element(env, both, 0, folder);
  napi_set_element(env, both, 1, handle);
  return both;
}

// leaveNamespace(library, handle). Must be called only once per handle.
napi_value leaveNamespace(napi_env env, napi_callback_info info) {
  napi_value args[2];
  size_t count = 2;
  napi_get_cb_info(env, info, &count, args, nullptr, nullptr);
  void* space = nullptr;
  auto* leave = softefaFunction<void(void*)>(env, args[0], "softefa_leave");
  if (leave != nullptr && napi_get_value_external(env, args[1], &space) == napi_ok) leave(space);
  return nullptr;
}

// removeNamespace(library, directory, name): returns the number of processes that prevent the
// removal.
napi_value removeNamespace(napi_env env, napi_callback_info info) {
  napi_value args[3];
  size_t count = 3;
  napi_get_cb_info(env, info, &count, args, nullptr, nullptr);
  auto* remove =
      softefaFunction<int(const char*, const char*, char*, size_t)>(env, args[0], "softefa_remove");
  if (remove == nullptr) return nullptr;
  char failure[kFailureSize] = "";
  const int users = remove(stringOf(env, args[1]).c_str(), stringOf(env, args[2]).c_str(), failure,
                           sizeof(failure));
  napi_value result = nullptr;
  if (users < 0) {
    napi_throw_error(env, nullptr, failure);
  } else {
    napi_create_int32(env, users, &result);
  }
  return result;
}

}  // namespace

NAPI_MODULE_INIT() {
  static std::once_flag once;
  std::call_once(once, prepareEnvironment);
  const napi_property_descriptor functions[] = {
      {"loadGlobal", nullptr, loadGlobal, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"enterNamespace", nullptr, enterNamespace, nullptr, nullptr, nullptr, napi_enumerable,
       nullptr},
      {"leaveNamespace", nullptr, leaveNamespace, nullptr, nullptr, nullptr, napi_enumerable,
       nullptr},
      {"removeNamespace", nullptr, removeNamespace, nullptr, nullptr, nullptr, napi_enumerable,
       nullptr},
  };
  napi_define_properties(env, exports, sizeof(functions) / sizeof(functions[0]), functions);
  return exports;
}
