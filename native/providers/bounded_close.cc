#include "bounded_close.h"

#include <pthread.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace fab {

namespace {

using Clock = std::chrono::steady_clock;

// The processor time that a thread has used.
std::chrono::nanoseconds processorTime(pthread_t thread) {
  clockid_t clock{};
  timespec time{};
  if (pthread_getcpuclockid(thread, &clock) == 0) clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// The closing thread and its waiting caller share this object. The last one destroys it.
struct Attempt {
  explicit Attempt(Fid<fid_ep> fid) : endpoint(std::move(fid)) {}

  void run() {
    pthread_setname_np(pthread_self(), "libfabric-close");
    const int ret = endpoint.close();
    const std::lock_guard<std::mutex> lock(mutex);
    result = ret;
    done = true;
    ended.notify_one();
  }
  bool wait(pthread_t thread, std::chrono::milliseconds timeout) {
    constexpr auto kLook = std::chrono::milliseconds(50);
    constexpr int kBusy = 4;
    const auto last = Clock::now() + timeout * kBusy;
    std::unique_lock<std::mutex> lock(mutex);
    while (!ended.wait_for(lock, std::min(timeout, kLook), [this] { return done; })) {
      if (processorTime(thread) >= timeout || Clock::now() >= last) return false;
    }
    return true;
  }

  Fid<fid_ep> endpoint;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  int result = 0;
};

}  // namespace

int closeWithin(Fid<fid_ep>& endpoint, std::chrono::milliseconds timeout) {
  const auto attempt = std::make_shared<Attempt>(std::move(endpoint));
  std::thread thread;
  try {
    thread = std::thread([attempt] { attempt->run(); });
  } catch (const std::system_error&) {  // the process has no more threads: close without a limit
    attempt->run();
  }
  const bool ended = !thread.joinable() || attempt->wait(thread.native_handle(), timeout);
  if (thread.joinable() && ended) thread.join();
  if (!ended) {
    // fi_close(3) polls until its peers make progress. All other threads take precedence.
    const sched_param idle{};
    pthread_setschedparam(thread.native_handle(), SCHED_IDLE, &idle);
    thread.detach();
    return -FI_ETIMEDOUT;
  }
  endpoint = std::move(attempt->endpoint);  // still owned if fi_close(3) refused
  return attempt->result;
}

}  // namespace fab
