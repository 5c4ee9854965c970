#pragma once

#include <napi.h>
#include <rdma/fi_domain.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "engine/driver.h"
#include "engine/engine.h"
#include "fabric.h"
#include "util/fid.h"
#include "util/resource.h"

namespace fab {

// One NIC, one engine, one thread of control over everything under it.
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
  // Its place among the domains of its environment; never another's.
  uint32_t number() const { return number_; }
  uint64_t mrMode() const { return static_cast<uint64_t>(info_->domain_attr->mr_mode); }
  // A key for a region whose provider lets the caller choose: unguessable, as wide as keys are.
  uint64_t chooseKey() const;

  // What buffers that only this side uses are registered for.
  uint64_t localAccess() const;

  // Gives memory of the engine's table a descriptor for local use: 0 or a negative errno.
  int registerLocal(Memory& memory) const;
  // Registers what operations without a buffer name where the provider wants registered memory: the
  // efa provider (1.17) crashes on an empty read without a descriptor.
  void registerNothing();
  // Starts turning the engine, and sees to its end with the environment's or the process's. From
  // here until end() the domain keeps itself alive, whatever the garbage collector does.
  void start(Napi::Env env, std::shared_ptr<Driver> driver);
  // Stops turning the engine. False: a call of the provider does not return.
  bool stop();
  // Stops the driver and closes everything under the domain at once, whatever is in flight. What
  // can't be freed is parked. -FI_ETIMEDOUT: a call of the provider does not return, and the domain
  // is lost: it stays as it is.
  int shutdown();
  // The same, and takes the driver off the event loop.
  int end();
  // The endpoints of which that is so, and what fi_close(3) said of the domain itself.
  size_t stuck() const { return stuck_; }
  int refusal() const { return refusal_; }

 protected:
  int closeSelf() override;

 private:
  int leak();
  // Waits for peers that may be reading the first messages of endpoints that nobody has closed.
  void linger() const;
  void retire();

  std::shared_ptr<Fabric> fabric_;
  std::shared_ptr<fi_info> info_;
  Fid<fid_domain> domain_;
  uint64_t nothing_ = 0;
  Fid<fid_mr> nothingRegion_;
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

void exportDomain(Napi::Object exports);

}  // namespace fab
