#include "events.h"

#include <uv.h>

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "../engine/driver.h"
#include "../util/error.h"

namespace fab::transfer {

// The event queue and its handle on the event loop. It lives until both the Events object and the
// event loop have released it. It replaces a thread-safe function of Node-API, which holds its
// mutex while it wakes the event loop: if the event loop runs on the same core, it then waits for
// that mutex.
class Events::Mailbox : public std::enable_shared_from_this<Mailbox> {
 public:
  explicit Mailbox(napi_env env) : env_(env) {}

  void open(Deliver deliver) {
    uv_loop_t* loop = nullptr;
    napi_get_uv_event_loop(env_, &loop);
    const int ret = uv_async_init(
        loop, &async_, [](uv_async_t* handle) { static_cast<Mailbox*>(handle->data)->deliver(); });
    if (ret != 0) throw FabricFailure(-ret, "uv_async_init");
    async_.data = this;
    ref(false);
    deliver_ = std::move(deliver);
    self_ = shared_from_this();
    napi_add_async_cleanup_hook(
        env_,
        [](napi_async_cleanup_hook_handle, void* data) {
          auto* const mailbox = static_cast<Mailbox*>(data);
          if (mailbox->beforeEnd) mailbox->beforeEnd();
          mailbox->close();
        },
        this, &hook_);
  }

  // Returns whether it has woken the event loop.
  bool add(Event event) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (closed_) return false;
      waiting_.push_back(std::move(event));
      if (waiting_.size() > 1) return false;
      ++wakers_;
    }
    wake();
    return true;
  }

  void ref(bool on) {
    auto* const handle = reinterpret_cast<uv_handle_t*>(&async_);
    if (!closed_) on ? uv_ref(handle) : uv_unref(handle);
  }

  void close() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (std::exchange(closed_, true)) return;
      waiting_.clear();
    }
    while (wakers_.load() > 0) std::this_thread::yield();
    closeHandles({reinterpret_cast<uv_handle_t*>(&async_)}, [this] {
      const auto self = std::move(self_);
      deliver_ = nullptr;
      napi_remove_async_cleanup_hook(hook_);
    });
  }

  std::function<void()> beforeEnd;  // used on JavaScript's thread only

  // Lets JavaScript's thread close the mailbox. Any thread may call this function.
  void abandon() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (closed_) return;
      abandoned_ = true;
      ++wakers_;
    }
    wake();
  }

 private:
  // The caller must not hold the mutex, because the event loop may take over this core at once.
  void wake() {
    uv_async_send(&async_);
    --wakers_;
  }

  void deliver() {
    std::vector<Event> taken;
    bool isAbandoned = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (closed_) return;
      taken.swap(waiting_);
      isAbandoned = abandoned_;
    }
    if (isAbandoned) return close();
    deliver_(taken);
  }

  const napi_env env_;
  uv_async_t async_{};
  Deliver deliver_;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  std::shared_ptr<Mailbox> self_;  // until the event loop has released the handle

  std::mutex mutex_;
  std::vector<Event> waiting_;
  bool closed_ = false;
  bool abandoned_ = false;
  std::atomic<int> wakers_{0};  // threads that are about to wake the event loop
};

Events::Events(napi_env env, Deliver deliver) : mailbox_(std::make_shared<Mailbox>(env)) {
  mailbox_->open(std::move(deliver));
}

Events::~Events() { mailbox_->abandon(); }

void Events::add(Event event) {
  if (mailbox_->add(std::move(event))) wakeUps_.fetch_add(1, std::memory_order_relaxed);
}

void Events::ref(bool on) { mailbox_->ref(on); }

void Events::close() { mailbox_->close(); }

void Events::beforeEnd(std::function<void()> function) {
  mailbox_->beforeEnd = std::move(function);
}

}  // namespace fab::transfer
