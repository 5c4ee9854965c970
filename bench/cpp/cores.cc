// Measures the latency between two cores: the nanoseconds that a cache line takes from one to the
// other. On a virtual machine it changes over time, and every latency and message rate changes with
// it.
//   cores CORE CORE
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

constexpr int kRoundTrips = 200'000;

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  std::atomic<int> line{0};
  std::thread other([&] {
    pin(std::atoi(argv[2]));
    for (int i = 0; i < kRoundTrips; ++i) {
      while (line.load(std::memory_order_acquire) != 2 * i + 1) continue;
      line.store(2 * i + 2, std::memory_order_release);
    }
  });
  pin(std::atoi(argv[1]));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRoundTrips; ++i) {
    line.store(2 * i + 1, std::memory_order_release);
    while (line.load(std::memory_order_acquire) != 2 * i + 2) continue;
  }
  const double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  other.join();
  std::printf("{\"loop\":\"cores\",\"value\":%.1f,\"unit\":\"ns\"}\n", ns / (2 * kRoundTrips));
}
