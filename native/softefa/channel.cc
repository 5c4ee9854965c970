#include "channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "completion_queue.h"
#include "runtime.h"

namespace softefa {
namespace {

std::atomic<uint32_t> numbers{0};

bool toAddress(const std::string& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

std::string socketPath(const std::string& folder, uint32_t number) {
  return folder + "/events-" + std::to_string(number);
}

// The socket from which the process sends all events.
int sender() {
  static const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return socket;
}

}  // namespace

CompletionChannel::CompletionChannel(ibv_context* context) : number_(++numbers) {
  path_ = socketPath(Runtime::get().space().self().path(), number_);
  socket_ = Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  if (!toAddress(path_, address)) {
    throw std::system_error(ENAMETOOLONG, std::generic_category(), path_);
  }
  if (!socket_ ||
      ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    throw std::system_error(errno, std::generic_category(), path_);
  }
  verbs_.context = context;
  verbs_.fd = socket_.get();
}

CompletionChannel::~CompletionChannel() { ::unlink(path_.c_str()); }

void CompletionChannel::attach(CompletionQueue& queue) {
  std::lock_guard<std::mutex> lock(mutex_);
  queues_.insert(&queue);
  ++verbs_.refcnt;
}

void CompletionChannel::detach(CompletionQueue& queue) {
  std::lock_guard<std::mutex> lock(mutex_);
  queues_.erase(&queue);
  --verbs_.refcnt;
}

bool CompletionChannel::used() {
  std::lock_guard<std::mutex> lock(mutex_);
  return !queues_.empty();
}

int CompletionChannel::next(ibv_cq** queue) {
  for (;;) {
    uint64_t cookie = 0;
    if (::read(verbs_.fd, &cookie, sizeof(cookie)) != sizeof(cookie)) return -1;
    std::lock_guard<std::mutex> lock(mutex_);
    for (CompletionQueue* candidate : queues_) {
      if (candidate->cookie() != cookie) continue;
      candidate->countEvent();
      *queue = reinterpret_cast<ibv_cq*>(candidate->verbs());
      return 0;
    }
    // The event was for a queue that has been destroyed.
  }
}

void CompletionChannel::announce(uint64_t cookie) const {
  announce(Runtime::get().space().self().path(), number_, cookie);
}

void CompletionChannel::announce(const std::string& folder, uint32_t number, uint64_t cookie) {
  sockaddr_un address;
  if (!toAddress(socketPath(folder, number), address)) return;
  // If the socket is full, the events in it already wake the reader.
  ::sendto(sender(), &cookie, sizeof(cookie), MSG_DONTWAIT | MSG_NOSIGNAL,
           reinterpret_cast<sockaddr*>(&address), sizeof(address));
}

}  // namespace softefa
