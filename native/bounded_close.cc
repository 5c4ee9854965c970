#include "bounded_close.h"

#include <pthread.h>
#include <rdma/fi_errno.h>
#include <sched.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace fab {

namespace {

// Of the thread and whoever waits for it, whichever is last.
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
  bool wait(std::chrono::milliseconds patience) {
    std::unique_lock<std::mutex> lock(mutex);
    return ended.wait_for(lock, patience, [this] { return done; });
  }

  Fid<fid_ep> endpoint;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  int result = 0;
};

}  // namespace

int closeWithin(Fid<fid_ep>& endpoint, std::chrono::milliseconds patience) {
  const auto attempt = std::make_shared<Attempt>(std::move(endpoint));
  std::thread thread;
  try {
    thread = std::thread([attempt] { attempt->run(); });
  } catch (const std::system_error&) {  // no more threads for this process: it has to wait
    attempt->run();
  }
  const bool ended = attempt->wait(patience);
  if (thread.joinable() && ended) thread.join();
  if (!ended) {
    // It polls until its peers move. Whoever has something to do comes first.
    const sched_param idle{};
    pthread_setschedparam(thread.native_handle(), SCHED_IDLE, &idle);
    thread.detach();
    return -FI_ETIMEDOUT;
  }
  endpoint = std::move(attempt->endpoint);  // where fi_close(3) refused
  return attempt->result;
}

}  // namespace fab
