#pragma once

#include <cstdint>

#include "errors.h"
#include "layout.h"

namespace fab {

// Native code that posts operations of its own on an engine (Engine::postFor) and takes their
// completions. The thread that owns the engine makes all calls.
class EngineClient {
 public:
  virtual ~EngineClient() = default;
  // Posts operations: called once in every turn. Returns the amount of work done.
  virtual unsigned turn() = 0;
  // Whether turn() has something to do soon, without any event of the provider.
  virtual bool waiting() const = 0;
  // Whether a peer may be at work for it: its messages may come soon.
  virtual bool awaitsPeer() const { return false; }
  // Whether it has woken the event loop since the last call.
  virtual bool notified() = 0;
  // Takes the completion of one of its operations: completion.request is its number.
  virtual void completed(const Completion& completion, const ErrorDetail& detail) = 0;
  // Takes the value of a remote write with data.
  virtual void arrived(uint64_t data) = 0;
  // The provider has broken an endpoint of the engine: operations of it fail from now on.
  virtual void broken(const Failure& why) = 0;
  // The domain has closed: the engine makes no further call.
  virtual void ended() = 0;
};

}  // namespace fab
