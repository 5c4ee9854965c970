#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "../util/error.h"
#include "errors.h"
#include "layout.h"

namespace fab {

class Endpoint;
class Engine;

// Closes the endpoints, memory and peers of an engine. Operations in flight keep the objects that
// they use, so a close waits for them.
//
//   endpoints, memory and peers                          close.cc
//   endpoints that break                                 broken.cc
//   closed endpoints with operations in flight           draining.cc
class Closings {
 public:
  explicit Closings(Engine& engine) : engine_(engine) {}

  bool any() const { return !closings_.empty(); }
  // Closes the endpoints whose operations have completed, or whose time is over. Returns the amount
  // of work done.
  unsigned turn() {
    const unsigned closed = closings_.empty() ? 0 : advance();
    return closed + (draining_.empty() ? 0 : closeDrained());
  }

  // Cancels waiting operations and posted receives. Other posted operations may complete until the
  // timeout: kCloseEndpoint.
  void closeEndpoint(const Operation& operation);
  // Releases memory and closes its region once no operation uses it.
  void closeMemory(uint32_t handle, uint32_t request);
  // Undoes one insertion of a peer. With the last one, ends it.
  void removePeer(uint32_t handle, uint32_t request);
  // Removes a peer from its address vector once no operation uses it.
  void endPeer(uint32_t handle, uint32_t request);
  // Ends the wait of a close for operations in flight. Returns whether the request is one.
  bool expire(uint32_t request);

  // Closes a broken endpoint, to end its operations and to release shared objects. For JavaScript
  // it stays open and refuses new operations.
  void breakEndpoint(Endpoint& endpoint, Failure failure, std::chrono::milliseconds timeout);
  // Why a closed endpoint takes no operations.
  Failure whyClosed(uint32_t endpoint) const;

  // Cancels what can be cancelled, and waits briefly for operations in flight, for endpoints whose
  // fi_close(3) waits for them.
  void drain(const std::vector<std::shared_ptr<Endpoint>>& endpoints);
  // Closes endpoints for the program and settles their promises, because an object that they use
  // closes. The engine closes them when their operations in flight have ended.
  void retire(const std::vector<std::shared_ptr<Endpoint>>& endpoints);
  // Settles the operations that a closed endpoint still has in flight.
  void abandon(Endpoint& endpoint);
  // Called when fi_close(3) of an endpoint does not return and holds locks of the provider: stops
  // all use of the domain, and fails the operations in flight of its other endpoints.
  void freeze(const Endpoint& closing);
  bool frozen() const { return frozen_; }
  static FabricFailure whyFrozen();

  // The endpoint no longer exists.
  void remove(const Endpoint& endpoint);
  // The domain has closed: releases the objects that hold it.
  void release() {
    closings_.clear();
    draining_.clear();
  }

  template <typename Visit>  // visit(const Endpoint&, uint32_t request)
  void forEach(Visit&& visit) const {
    for (const Closing& closing : closings_) visit(*closing.endpoint, closing.request);
  }
  template <typename Visit>  // visit(uint32_t endpoint), of those that JavaScript has not closed
  void forEachBroken(Visit&& visit) const {
    for (const auto& [endpoint, failure] : broken_) visit(endpoint);
  }

 private:
  struct Closing {
    std::shared_ptr<Endpoint> endpoint;
    uint32_t request;
    std::chrono::steady_clock::time_point deadline;
    std::chrono::steady_clock::time_point notBefore;
  };

  void start(Endpoint& endpoint, uint32_t request, std::chrono::microseconds timeout);
  unsigned advance();
  void cancelWaiting(Endpoint& endpoint);

  void closeWhenDrained(const std::shared_ptr<Endpoint>& endpoint);
  unsigned closeDrained();
  template <typename Match>
  bool anyWaiting(Match&& match) const;
  template <typename UsesOp, typename UsesBatch>
  bool onlyDraining(const UsesOp& usesOp, const UsesBatch& usesBatch);
  bool onlyDrainingUseMemory(uint32_t handle);
  bool onlyDrainingUsePeer(uint32_t handle);

  Engine& engine_;
  std::vector<Closing> closings_;
  std::vector<std::shared_ptr<Endpoint>> draining_;
  std::unordered_map<uint32_t, Failure> broken_;  // causes by endpoint, until JavaScript closes it
  bool frozen_ = false;
};

}  // namespace fab
