// The handshake with a rail of a peer. Some providers keep operations in a queue of their own until
// the peer has answered. If the peer dies before it answers, these operations never end. A rail
// therefore sends an empty message first, which the provider holds back in the same way. The rail
// posts slices and messages only after the empty message has arrived, so a dead peer never holds
// memory.
//
// From 2.5 on, the provider sends the empty message at once, and the peer sends its answer before
// the delivery receipt. If the peer dies when only the receipt has arrived, the provider may still
// keep operations.
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "rail.h"
#include "transfer_engine.h"

namespace fab::transfer {

// Returns 0 if operations may be posted to this rail of the peer, otherwise a negative errno:
// -FI_EAGAIN until the rail has answered.
ssize_t Rail::ensureHandshake(const std::shared_ptr<Peer>& peer, Path& path, uint32_t rail) {
  if (!needsHandshake_) return 0;
  Handshake& handshake = path.handshake(rail);
  if (handshake == Handshake::kAnswered) return 0;
  if (handshake == Handshake::kSent) return -FI_EAGAIN;
  const uint32_t number = ops_.add();
  Operation o{};
  o.code = OpCode::kSend;
  o.request = number;
  o.endpoint = endpoint_->handle;
  o.peer = path.peer(rail);
  o.flags = FI_DELIVERY_COMPLETE;  // only such messages wait for the answer
  const ssize_t ret = engine_.postFor(*this, o, false);
  if (ret != 0) {
    ops_.remove(number);
    return ret;
  }
  ops_[number].use = Use::kHandshake;
  ops_[number].to = rail;
  ops_[number].peer = peer;
  handshake = Handshake::kSent;
  return -FI_EAGAIN;
}

void Rail::handshakeEnded(const InFlight& op, const Completion& completion,
                          const ErrorDetail& detail) {
  if (brokenBy() || completion.status == FI_ECANCELED) return;  // the endpoint was closed
  const auto now = Clock::now();
  Path& path = op.peer->paths[index];
  if (completion.status == 0) {
    path.handshake(op.to) = Handshake::kAnswered;
    path.succeeded(now, op.to);
    return changePath(*op.peer, PathState::kUp, 0, {});
  }
  path.handshake(op.to) = Handshake::kNone;  // the next slice or message repeats it
  path.failed(now, op.to);
  changePath(*op.peer, PathState::kFailing, completion.status, detail.text);
}

}  // namespace fab::transfer
