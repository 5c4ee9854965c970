// A fake of the Neuron runtime for tests on machines without Neuron devices. Its memory is a memfd,
// mapped without access: any touch of it by the host is a fault. It has no other function of a
// device.
//
// FAKE_NEURON_CORES     the number of cores; 2 if unset
// FAKE_NEURON_VISIBLE   the number of visible ones; all if unset
// FAKE_NEURON_ADDRESS   `none`: memory has no address
// FAKE_NEURON_FAIL      FUNCTION:N:STATUS: the N-th call of the function fails, counted from when
//                       the variable was set. The function `*` counts all calls.
// FAKE_NEURON_COUNTERS  a file that gets the number of calls of each function, of those that failed
//                       on request (failed:FUNCTION), and what is held: held:memory,
//                       held:initialized
//
// Compiled with OLD_DMABUF, it has no nrt_get_dmabuf_fd_v2.
#include "include/nrt/nrt.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#define FAKE extern "C" __attribute__((visibility("default")))

struct nrt_tensor {
  int fd;
  uint64_t start;
  size_t size;
  size_t mapped;
};

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMost = size_t{1} << 30;

struct State {
  std::recursive_mutex mutex;
  bool initialized = false;
  bool closed = false;
  std::map<uint64_t, nrt_tensor*> memory;  // by address
  std::multimap<size_t, void*> freed;      // addresses, by size
  std::map<std::string, int> counts;
  std::map<std::string, size_t> lines;
  std::string wanted;
  int seen = 0;
  static State& get() {
    static State state;
    return state;
  }
};

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

uint32_t coreCount() {
  return static_cast<uint32_t>(std::stoul(variable("FAKE_NEURON_CORES", "2")));
}

uint32_t visibleCount() {
  const std::string visible = variable("FAKE_NEURON_VISIBLE", "");
  return visible.empty() ? coreCount() : static_cast<uint32_t>(std::stoul(visible));
}

// A text file in which each counter has a line of 48 characters.
void count(const std::string& name, int more) {
  State& state = State::get();
  const int sum = state.counts[name] += more;
  const std::string path = variable("FAKE_NEURON_COUNTERS", "");
  if (path.empty()) return;
  const size_t line = state.lines.try_emplace(name, state.lines.size()).first->second;
  char text[49];
  std::snprintf(text, sizeof(text), "%-36s%11d\n", name.c_str(), sum);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (pwrite(fd, text, 48, static_cast<off_t>(line) * 48) != 48) std::perror("fake neuron");
  close(fd);
}

int failureOf(const std::string& name) {
  State& state = State::get();
  const std::string wanted = variable("FAKE_NEURON_FAIL", "");
  if (wanted != state.wanted) {
    state.wanted = wanted;
    state.seen = 0;
  }
  char function[64];
  int number = 0;
  int status = 0;
  if (std::sscanf(wanted.c_str(), "%63[^:]:%d:%d", function, &number, &status) != 3) return 0;
  if (std::strcmp(function, "*") != 0 && name != function) return 0;
  return ++state.seen == number ? status : 0;
}

// Counts a call. Returns the status with which it must fail.
NRT_STATUS enter(const char* name, bool needsInit = true) {
  State& state = State::get();
  const std::lock_guard<std::recursive_mutex> lock(state.mutex);
  count(name, 1);
  if (const int failure = failureOf(name)) {
    count(std::string("failed:") + name, 1);
    return static_cast<NRT_STATUS>(failure);
  }
  if (!needsInit || state.initialized) return NRT_SUCCESS;
  return state.closed ? NRT_CLOSED : NRT_UNINITIALIZED;
}

// The memory that contains a range, or nullptr.
nrt_tensor* find(uint64_t address, uint64_t size) {
  State& state = State::get();
  const std::lock_guard<std::recursive_mutex> lock(state.mutex);
  auto found = state.memory.upper_bound(address);
  if (found == state.memory.begin()) return nullptr;
  nrt_tensor* tensor = (--found)->second;
  const uint64_t offset = address - tensor->start;
  return offset < tensor->size && size <= tensor->size - offset ? tensor : nullptr;
}

bool within(const nrt_tensor* tensor, size_t offset, size_t size) {
  return tensor != nullptr && offset <= tensor->size && size <= tensor->size - offset;
}

// Maps a file without access, where memory of the same size was freed or at a new address.
void* mapFile(int fd, size_t size) {
  State& state = State::get();
  const std::lock_guard<std::recursive_mutex> lock(state.mutex);
  const auto freed = state.freed.find(size);
  void* const place = freed == state.freed.end() ? nullptr : freed->second;
  if (place != nullptr) state.freed.erase(freed);
  const int fixed = place == nullptr ? 0 : MAP_FIXED;
  return mmap(place, size, PROT_NONE, MAP_SHARED | fixed, fd, 0);
}

// The addresses stay reserved: a use of freed memory by the host is a fault, too.
void unmapFile(void* place, size_t size) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  mmap(place, size, PROT_NONE, flags, -1, 0);
  State::get().freed.emplace(size, place);
}

NRT_STATUS done(ssize_t moved, size_t size) {
  return moved == static_cast<ssize_t>(size) ? NRT_SUCCESS : NRT_FAILURE;
}

}  // namespace

FAKE NRT_STATUS nrt_init(nrt_framework_type_t framework, const char* version, const char* layer) {
  if (const NRT_STATUS failure = enter("nrt_init", false)) return failure;
  if (framework != NRT_FRAMEWORK_TYPE_NO_FW || version == nullptr || layer == nullptr) {
    return NRT_INVALID;
  }
  State& state = State::get();
  const std::lock_guard<std::recursive_mutex> lock(state.mutex);
  if (!state.initialized) count("held:initialized", 1);
  state.initialized = true;
  return NRT_SUCCESS;
}

FAKE void nrt_close() {
  enter("nrt_close", false);
  State& state = State::get();
  const std::lock_guard<std::recursive_mutex> lock(state.mutex);
  if (state.initialized) count("held:initialized", -1);
  state.initialized = false;
  state.closed = true;
}

FAKE const char* nrt_get_status_as_str(NRT_STATUS status) {
  switch (static_cast<int>(status)) {
    case NRT_SUCCESS:
      return "NRT_SUCCESS";
    case NRT_FAILURE:
      return "NRT_FAILURE";
    case NRT_INVALID:
      return "NRT_INVALID";
    case NRT_RESOURCE:
      return "NRT_RESOURCE";
    case NRT_UNINITIALIZED:
      return "NRT_UNINITIALIZED";
    case NRT_CLOSED:
      return "NRT_CLOSED";
    case 1005:
      return "NRT_EXEC_NC_BUSY";
    default:
      return "UNKNOWN";
  }
}

struct nrt_version_t {
  uint64_t numbers[4];
  char detail[128];
  char git_hash[64];
};

FAKE NRT_STATUS nrt_get_version(nrt_version_t* version, size_t size) {
  if (const NRT_STATUS failure = enter("nrt_get_version", false)) return failure;
  if (size != sizeof(nrt_version_t)) return NRT_INVALID;
  *version = {{2, 21, 41, 0}, "fake, a test's libnrt", ""};
  return NRT_SUCCESS;
}

FAKE NRT_STATUS nrt_get_total_nc_count(uint32_t* cores) {
  if (const NRT_STATUS failure = enter("nrt_get_total_nc_count", false)) return failure;
  *cores = coreCount();
  return NRT_SUCCESS;
}

FAKE NRT_STATUS nrt_get_visible_nc_count(uint32_t* cores) {
  if (const NRT_STATUS failure = enter("nrt_get_visible_nc_count", false)) return failure;
  *cores = visibleCount();
  return NRT_SUCCESS;
}

FAKE NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t placement, int core, size_t size,
                                    const char*, nrt_tensor_t** tensor) {
  if (const NRT_STATUS failure = enter("nrt_tensor_allocate")) return failure;
  if (placement != NRT_TENSOR_PLACEMENT_DEVICE || size == 0) return NRT_INVALID;
  if (core < 0 || static_cast<uint32_t>(core) >= visibleCount()) return NRT_INVALID;
  if (size > kMost) return NRT_RESOURCE;
  const size_t mapped = (size + kPage - 1) / kPage * kPage;
  const int fd = memfd_create("fake-neuron", MFD_CLOEXEC);
  if (fd < 0) return NRT_RESOURCE;
  void* const place =
      ftruncate(fd, static_cast<off_t>(mapped)) == 0 ? mapFile(fd, mapped) : MAP_FAILED;
  if (place == MAP_FAILED) {
    close(fd);
    return NRT_RESOURCE;
  }
  State& state = State::get();
  const std::lock_guard<std::recursive_mutex> lock(state.mutex);
  const auto start = reinterpret_cast<uint64_t>(place);
  *tensor = new nrt_tensor{fd, start, size, mapped};
  state.memory.emplace(start, *tensor);
  count("held:memory", 1);
  return NRT_SUCCESS;
}

FAKE void nrt_tensor_free(nrt_tensor_t** tensor) {
  enter("nrt_tensor_free", false);
  State& state = State::get();
  const std::lock_guard<std::recursive_mutex> lock(state.mutex);
  if (state.memory.erase((*tensor)->start) != 1) std::abort();
  unmapFile(reinterpret_cast<void*>((*tensor)->start), (*tensor)->mapped);
  close((*tensor)->fd);
  delete *tensor;
  *tensor = nullptr;
  count("held:memory", -1);
}

FAKE void* nrt_tensor_get_va(const nrt_tensor_t* tensor) {
  if (enter("nrt_tensor_get_va") != NRT_SUCCESS) return nullptr;
  if (variable("FAKE_NEURON_ADDRESS", "") == "none") return nullptr;
  return reinterpret_cast<void*>(tensor->start);
}

FAKE NRT_STATUS nrt_tensor_read(const nrt_tensor_t* tensor, void* bytes, size_t offset,
                                size_t size) {
  if (const NRT_STATUS failure = enter("nrt_tensor_read")) return failure;
  if (!within(tensor, offset, size)) return NRT_INVALID;
  return done(pread(tensor->fd, bytes, size, static_cast<off_t>(offset)), size);
}

FAKE NRT_STATUS nrt_tensor_write(nrt_tensor_t* tensor, const void* bytes, size_t offset,
                                 size_t size) {
  if (const NRT_STATUS failure = enter("nrt_tensor_write")) return failure;
  if (!within(tensor, offset, size)) return NRT_INVALID;
  return done(pwrite(tensor->fd, bytes, size, static_cast<off_t>(offset)), size);
}

// libfabric copies to the device with it.
FAKE NRT_STATUS nrt_memcpy_to_device(void* to, const void* bytes, size_t size) {
  if (const NRT_STATUS failure = enter("nrt_memcpy_to_device")) return failure;
  const auto address = reinterpret_cast<uint64_t>(to);
  const nrt_tensor* tensor = find(address, size);
  if (tensor == nullptr) return NRT_INVALID;
  const auto offset = static_cast<off_t>(address - tensor->start);
  return done(pwrite(tensor->fd, bytes, size, offset), size);
}

namespace {

NRT_STATUS openDmabuf(const nrt_tensor* tensor, int* fd) {
  *fd = fcntl(tensor->fd, F_DUPFD, 0);
  return *fd < 0 ? NRT_RESOURCE : NRT_SUCCESS;
}

}  // namespace

FAKE NRT_STATUS nrt_get_dmabuf_fd(uint64_t address, uint64_t size, int* fd) {
  if (const NRT_STATUS failure = enter("nrt_get_dmabuf_fd")) return failure;
  const nrt_tensor* tensor = find(address, size);
  if (tensor == nullptr || tensor->start != address) return NRT_INVALID;
  return openDmabuf(tensor, fd);
}

#ifndef OLD_DMABUF
FAKE NRT_STATUS nrt_get_dmabuf_fd_v2(uint64_t address, uint64_t size, int* fd, uint64_t* offset) {
  if (const NRT_STATUS failure = enter("nrt_get_dmabuf_fd_v2")) return failure;
  const nrt_tensor* tensor = find(address, size);
  if (tensor == nullptr) return NRT_INVALID;
  *offset = address - tensor->start;
  return openDmabuf(tensor, fd);
}
#endif
