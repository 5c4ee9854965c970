#include "forks.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace softefa {
namespace {

struct Forks {
  std::mutex mutex;
  std::vector<int> descriptors;
  unsigned depth = 0;

  Forks();
};

Forks& forks() {
  // Never destroyed, because a process may fork while it exits.
  static Forks& all = *std::make_unique<Forks>().release();
  return all;
}

void before() { forks().mutex.lock(); }
void inParent() { forks().mutex.unlock(); }
void inChild() {
  Forks& all = forks();
  ++all.depth;
  for (const int fd : all.descriptors) ::close(fd);
  all.descriptors.clear();
  all.mutex.unlock();
}

Forks::Forks() { ::pthread_atfork(before, inParent, inChild); }

}  // namespace

unsigned forkDepth() { return forks().depth; }

void closeInForkedChildren(int fd) {
  Forks& all = forks();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.descriptors.push_back(fd);
}

void forget(int fd) {
  Forks& all = forks();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = std::find(all.descriptors.begin(), all.descriptors.end(), fd);
  if (found != all.descriptors.end()) all.descriptors.erase(found);
}

}  // namespace softefa
