#pragma once

// A fake of the CUDA driver for tests on machines without a GPU. Its memory is a memfd, mapped
// without access: any touch of it by the host is a fault. It has no other function of a GPU.
//
// FAKE_CUDA_DEVICES   the number of devices; 1 if unset
// FAKE_CUDA_PCI       their PCI addresses, separated by commas
// FAKE_CUDA_MEMORY    the kind of memory of cuPointerGetAttribute: device, host or managed
// FAKE_CUDA_FAIL      FUNCTION:N:RESULT: the N-th call of the function fails, counted from when the
//                     variable was set. The function `*` counts all calls.
// FAKE_CUDA_COUNTERS  a file that gets the number of calls of each function, of those that failed
// on
//                     request (failed:FUNCTION), and what is held: held:memory, held:contexts,
//                     held:pushed, and of GDRCopy held:pinned, held:mappings

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fake {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNotInitialized = 3;
constexpr int kNoDevice = 100;
constexpr int kInvalidDevice = 101;
constexpr int kInvalidContext = 201;
constexpr int kNotSupported = 801;

struct Allocation {
  int fd;
  size_t size;
  int device;
  bool syncMemops;
};

struct Context {
  int device;
  int retained;
};

// The state of the process. Everything is guarded by `mutex`.
struct State {
  std::mutex mutex;
  bool initialized = false;
  std::map<int, Context> contexts;            // the primary ones, by device
  std::map<uint64_t, Allocation> memory;      // by address
  std::multimap<size_t, uint64_t> freed;      // addresses, by size
  std::vector<std::function<void()>> queued;  // work that the stream has not done
  static State& get();

  // The allocation that contains a range, or the end of `memory`.
  std::map<uint64_t, Allocation>::iterator find(uint64_t pointer, size_t length);
  void finish();
};

// The contexts that this thread has pushed.
std::vector<Context*>& stack();

int deviceCount();
std::string pciOf(int device);

// Adds to a counter of the file.
void count(const std::string& name, int more);

// Counts a call. Returns the result with which it must fail, or kSuccess. Checks for cuInit.
int enter(const char* name, bool needsInit = true);

}  // namespace fake

// The functions are looked up by their names.
#define FAKE_CUDA extern "C" __attribute__((visibility("default"))) int
