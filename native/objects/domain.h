#pragma once

#include <node_api.h>
#include <rdma/fi_domain.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "../engine/driver.h"
#include "../engine/engine.h"
#include "../util/fid.h"
#include "../util/resource.h"
#include "fabric.h"

namespace fab {

// One NIC, one engine, and one thread of control over all objects of the domain.
class Domain : public Resource {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x646f6d0000000001};
  static constexpr const char* kName = "Domain";

  Domain(std::shared_ptr<Fabric> fabric, Fid<fid_domain> domain, std::shared_ptr<fi_info> entry,
         std::unique_ptr<Engine> engine);
  ~Domain() override;

  fid_domain* get() const { return domain_.get(); }
  Fabric& fabric() const { return *fabric_; }
  const fi_info& info() const { return *info_; }
  Engine& engine() const { return *engine_; }
  Driver& driver() const { return *driver_; }
  napi_env env() const { return env_; }
  // The index among the domains of its environment. It is never reused.
  uint32_t number() const { return number_; }
  uint64_t mrMode() const { return static_cast<uint64_t>(info_->domain_attr->mr_mode); }
  // An unguessable key, as wide as the provider's keys, for providers that let the caller choose.
  uint64_t chooseKey() const;

  // The access for which buffers are registered that only this side uses.
  uint64_t localAccess() const;

  // Registers memory of the engine's table for local use. Returns 0 or a negative errno.
  int registerLocal(Memory& memory) const;
  // Registers a placeholder for operations without a buffer, if the provider needs registered
  // memory: the efa provider (1.17) crashes on an empty read without a descriptor.
  void registerPlaceholder();
  // Starts the driver, adds the domain to those of its environment, and arranges for shutdown at
  // the end of the environment and of the process. From this call until end() the domain keeps
  // itself alive, regardless of garbage collection.
  void start(napi_env env, std::shared_ptr<std::vector<Domain*>> domains,
             std::shared_ptr<Driver> driver);
  // Any thread: runs a task soon, where the engine runs. Does nothing if the domain is closed.
  void defer(std::function<void()> task);
  // Stops the driver. Returns false if a provider call does not return.
  bool stop();
  // Stops the driver and closes everything under the domain at once, even with operations in
  // flight. Objects that cannot be freed are parked. Returns -FI_ETIMEDOUT if a provider call does
  // not return; the domain is then leaked and stays as it is.
  int shutdown();
  // Calls shutdown(), and removes the driver from the event loop.
  int end();
  // The number of endpoints that could not be closed, and the result of fi_close(3) for the domain.
  size_t stuck() const { return stuck_; }
  int refusal() const { return refusal_; }

 protected:
  int closeSelf() override;

 private:
  int leak();
  // Whether peers may still be reading the first messages of endpoints that are still open. The
  // caller holds the engine.
  bool mustLinger() const;
  void retire();

  std::shared_ptr<Fabric> fabric_;
  std::shared_ptr<fi_info> info_;
  Fid<fid_domain> domain_;
  uint64_t placeholder_ = 0;
  Fid<fid_mr> placeholderRegion_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<Driver> driver_;
  std::optional<std::chrono::steady_clock::time_point> stopped_;
  napi_env env_ = nullptr;
  std::shared_ptr<std::vector<Domain*>> domains_;
  uint32_t number_ = 0;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  std::shared_ptr<Domain> self_;
  size_t stuck_ = 0;
  int refusal_ = 0;
};

}  // namespace fab
