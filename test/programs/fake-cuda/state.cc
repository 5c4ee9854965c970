// The parts that the functions share: the state of the process, counters, and failures on request.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fake.h"

namespace fake {
namespace {

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// A text file in which each function has a line of 48 characters.
class Counters {
 public:
  void add(const std::string& name, int more) {
    const std::string path = variable("FAKE_CUDA_COUNTERS", "");
    const int sum = counts_[name] += more;
    if (path.empty()) return;
    const auto line = lines_.try_emplace(name, lines_.size()).first->second;
    char text[49];
    std::snprintf(text, sizeof(text), "%-36s%11d\n", name.c_str(), sum);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return;
    if (pwrite(fd, text, 48, static_cast<off_t>(line) * 48) != 48) std::perror("fake cuda");
    close(fd);
  }

 private:
  std::map<std::string, int> counts_;
  std::map<std::string, size_t> lines_;
};

// FAKE_CUDA_FAIL
class Failures {
 public:
  int next(const std::string& name) {
    const std::string wanted = variable("FAKE_CUDA_FAIL", "");
    if (wanted != wanted_) {
      wanted_ = wanted;
      seen_ = 0;
    }
    char function[64];
    int number = 0;
    int result = 0;
    if (std::sscanf(wanted.c_str(), "%63[^:]:%d:%d", function, &number, &result) != 3) return 0;
    if (std::strcmp(function, "*") != 0 && name != function) return 0;
    return ++seen_ == number ? result : 0;
  }

 private:
  std::string wanted_;
  int seen_ = 0;
};

}  // namespace

State& State::get() {
  static State state;
  return state;
}

std::map<uint64_t, Allocation>::iterator State::find(uint64_t pointer, size_t length) {
  auto found = memory.upper_bound(pointer);
  if (found == memory.begin()) return memory.end();
  --found;
  const uint64_t offset = pointer - found->first;
  const size_t size = found->second.size;
  return offset < size && length <= size - offset ? found : memory.end();
}

void State::finish() {
  for (const auto& work : queued) work();
  queued.clear();
}

std::vector<Context*>& stack() {
  thread_local std::vector<Context*> contexts;
  return contexts;
}

int deviceCount() { return std::atoi(variable("FAKE_CUDA_DEVICES", "1").c_str()); }

std::string pciOf(int device) {
  std::string list = variable("FAKE_CUDA_PCI", "");
  for (int i = 0; i < device && !list.empty(); ++i) {
    const size_t comma = list.find(',');
    list = comma == std::string::npos ? "" : list.substr(comma + 1);
  }
  if (!list.empty()) return list.substr(0, list.find(','));
  char address[16];
  std::snprintf(address, sizeof(address), "0000:F%X:00.0", device % 16);
  return address;
}

void count(const std::string& name, int more) {
  static Counters counters;
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  counters.add(name, more);
}

int enter(const char* name, bool needsInit) {
  static Failures failures;
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  count(name, 1);
  if (const int failure = failures.next(name)) {
    count(std::string("failed:") + name, 1);
    return failure;
  }
  return needsInit && !State::get().initialized ? kNotInitialized : kSuccess;
}

}  // namespace fake

FAKE_CUDA fakeCudaEnter(const char* name) { return fake::enter(name, false); }

FAKE_CUDA fakeCudaHeld(const char* name, int more) {
  fake::count(std::string("held:") + name, more);
  return fake::kSuccess;
}
