#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "batch.h"
#include "failures.h"
#include "held.h"
#include "layout.h"
#include "op_pool.h"
#include "resolve.h"

namespace fab {

class CompletionQueue;
class Endpoint;
class Engine;

// The receives of an engine's endpoints, where they differ from other posted operations.
//
//   completions, and the messages of aborted receives    receives.cc
//   the abort of receives                                recall.cc
//   multi-receive buffers that are posted in parts       multi_receives.cc
//   receives into the package's own memory               staged_receives.cc
//   messages that are longer than their receives         truncation.cc
class Receives {
 public:
  explicit Receives(Engine& engine) : engine_(engine) {}

  // How much of a receive the held messages have filled.
  enum class Filled { kNothing, kPart, kAll };

  // Gives held messages to a receive that is about to be posted. If they fill a part of it,
  // `resolved` becomes the rest.
  Filled takeHeld(const Operation& operation, Endpoint& endpoint, Resolved& resolved,
                  BatchRun* run);
  // Completes a multi-receive buffer that is not posted to the provider.
  void endBuffer(const Operation& operation, Completion result = {});
  // Whether a receive must wait until the buffer before it is used up.
  bool waitsForBuffer(const Operation& operation, const Endpoint& endpoint) const;
  // The provider has accepted the free part of a buffer.
  void beginBuffer(Op& op, Endpoint& endpoint, const iovec& rest);
  // Starts a receive into the package's own memory.
  ssize_t postStaged(const Operation& operation, Endpoint& endpoint, BatchRun* run,
                     EngineClient* client);
  // Returns the number of segments of a receive as it is posted. Some providers fail if a message
  // does not fit: their receives end in memory that takes the rest.
  size_t addSurplus(const Operation& operation, const Endpoint& endpoint, Resolved& resolved);
  // Posts what waiting receives need. Returns false if the provider has no room.
  bool resume(Endpoint& endpoint);

  // A receive has completed, or has failed.
  void complete(Op& op, Completion result);
  // The same for memory of the package.
  void completeStaged(Op& slot, Completion result);
  // The sender has aborted the message that was arriving in a part of a buffer.
  void skipMessage(Op& op, const Completion& failure);
  // A write with data has arrived: efa-direct, on devices without unsolicited write receive.
  // Returns whether it has consumed the package's own memory.
  bool consumedByWrite(void* context);
  // Turns the completion of a message that has not fitted, which the provider has reported as a
  // success, into that of a failed receive.
  void truncate(Completion& result, const FailedOperation& receive, const Endpoint& endpoint);

  // Cancels a posted receive. Returns true if it has ended.
  bool recall(Op& op);
  // Cancels the receives of a run that are operations of their own.
  void recall(BatchRun& run);
  // Cancels the receives of an endpoint, and reads completions meanwhile.
  void recall(Endpoint& endpoint);
  // Cancels the posted receives of an endpoint.
  void cancel(Endpoint& endpoint);
  // JavaScript returns a message that a completed receive got but the program did not take.
  void giveBack(const Operation& operation);

 private:
  // receives.cc
  size_t piecesOf(const Op& op, iovec* pieces);
  void copy(Completion& result, const FailedOperation& receive, const uint8_t* from,
            const iovec* pieces, size_t count);
  bool takeOne(const Operation& operation, Endpoint& endpoint, const Resolved& resolved,
               BatchRun* run);
  bool fillBuffer(const Operation& operation, Endpoint& endpoint, iovec& rest);
  void hold(Endpoint& endpoint, Held::Message message);
  void fill(Op& op, Completion result, const uint8_t* from);
  void keep(const Op& op, const Completion& result);
  void reportPart(uint32_t request, Completion result);

  // recall.cc
  void endWaiting(Op& op);

  // multi_receives.cc
  size_t leastFree(const Endpoint& endpoint);
  void useUp(Op& op, double used);
  ssize_t postPart(Op& op);
  void completePart(Op& op, Completion result);
  void finishBuffer(Op& op, const Completion& result);
  bool takesAnother(Op& op, Completion& result);
  bool postRest(Op& op, Completion& result);
  bool resumeBehindBuffer(Endpoint& endpoint);

  // staged_receives.cc
  ssize_t postSlot(Endpoint& endpoint);
  bool replenish(Endpoint& endpoint);

  // truncation.cc
  void fail(Completion& result, const FailedOperation& receive);

  Engine& engine_;
  uint32_t arrivals_ = 0;  // the number of messages that have arrived
};

}  // namespace fab
