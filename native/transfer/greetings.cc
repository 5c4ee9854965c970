// The first contact with a rail of a peer, where the provider keeps operations in a queue of its
// own until the peer has answered. Nothing ends them if the peer dies before. A rail therefore
// first sends an empty message, which the provider holds back in the same way, and posts slices and
// messages when it has arrived: a dead peer never holds memory.
//
// From 2.5 on the provider sends this message at once, and the peer sends its answer before the
// receipt. If the peer dies when only the receipt has arrived, operations may still be kept.
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "hub.h"
#include "rail.h"

namespace fab::transfer {

// Returns 0 if operations may be posted to this rail of the peer, otherwise a negative errno:
// -FI_EAGAIN while it has not answered.
ssize_t Rail::greet(const std::shared_ptr<Peer>& peer, Path& path, uint32_t rail) {
  if (!greets_) return 0;
  Greeting& greeting = path.greeting(rail);
  if (greeting == Greeting::kAnswered) return 0;
  if (greeting == Greeting::kSent) return -FI_EAGAIN;
  const uint32_t number = takeNumber();
  Operation o{};
  o.code = OpCode::kSend;
  o.request = number;
  o.endpoint = endpoint_->handle;
  o.peer = path.peer(rail);
  o.flags = FI_DELIVERY_COMPLETE;  // only such messages wait for the answer
  const ssize_t ret = engine_.postFor(*this, o, false);
  if (ret != 0) {
    giveNumber(number);
    return ret;
  }
  ops_[number].use = Use::kGreeting;
  ops_[number].to = rail;
  ops_[number].peer = peer;
  greeting = Greeting::kSent;
  return -FI_EAGAIN;
}

void Rail::greetingEnded(const InFlight& op, const Completion& completion,
                         const ErrorDetail& detail) {
  if (brokenBy() || completion.status == FI_ECANCELED) return;  // the endpoint has closed
  const auto now = Clock::now();
  Path& path = op.peer->paths[index];
  if (completion.status == 0) {
    path.greeting(op.to) = Greeting::kAnswered;
    path.succeeded(now, op.to);
    return changePath(*op.peer, PathState::kUp, 0, {});
  }
  path.greeting(op.to) = Greeting::kNone;  // the next slice greets again
  path.failed(now, op.to);
  changePath(*op.peer, PathState::kFailing, completion.status, detail.text);
}

}  // namespace fab::transfer
