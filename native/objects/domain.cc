#include "domain.h"

#include <algorithm>
#include <thread>

#include "../engine/endpoint.h"
#include "../engine/hold.h"
#include "../providers/bounded_close.h"
#include "../providers/local_peers.h"
#include "../providers/skip_destructors.h"
#include "../util/random_bits.h"
#include "exit_registry.h"

namespace fab {

Domain::Domain(std::shared_ptr<Fabric> fabric, Fid<fid_domain> domain,
               std::shared_ptr<fi_info> entry, std::unique_ptr<Engine> engine)
    : fabric_(std::move(fabric)),
      info_(std::move(entry)),
      domain_(std::move(domain)),
      engine_(std::move(engine)) {
  shareLeaked();
}

Domain::~Domain() = default;

uint64_t Domain::chooseKey() const {
  const size_t bytes = info_->domain_attr->mr_key_size;
  const uint64_t mask = bytes >= 8 ? UINT64_MAX : (uint64_t{1} << (bytes * 8)) - 1;
  return std::min<uint64_t>(randomBits() & mask, FI_KEY_NOTAVAIL - 1);
}

uint64_t Domain::localAccess() const {
  const bool remote = (info_->caps & (FI_RMA | FI_ATOMIC)) != 0;
  return FI_SEND | FI_RECV | (remote ? FI_READ | FI_WRITE : 0);
}

int Domain::registerLocal(Memory& memory) const {
  constexpr int kKeyTries = 8;  // attempts if a key is in use
  const CallLimit::Registration registration(engine_->callLimit(), memory.length);
  int ret = -FI_ENOKEY;
  for (int i = 0; i < kKeyTries && ret == -FI_ENOKEY; ++i) {
    ret = fi_mr_reg(domain_.get(), memory.base, memory.length, localAccess(), 0, chooseKey(), 0,
                    memory.local.out(), nullptr);
  }
  if (ret == 0) memory.desc = fi_mr_desc(memory.local.get());
  return ret;
}

void Domain::registerPlaceholder() {
  if ((mrMode() & FI_MR_LOCAL) == 0) return;
  engine_->useForDescriptors([this](Memory& memory) { return registerLocal(memory); });
  check(fi_mr_reg(domain_.get(), &placeholder_, sizeof(placeholder_), localAccess(), 0, chooseKey(),
                  0, placeholderRegion_.out(), nullptr),
        "fi_mr_reg");
  engine_->usePlaceholder(&placeholder_, fi_mr_desc(placeholderRegion_.get()));
}

void Domain::start(napi_env env, std::shared_ptr<std::vector<Domain*>> domains,
                   std::shared_ptr<Driver> driver) {
  driver_ = std::move(driver);
  env_ = env;
  domains_ = std::move(domains);
  number_ = static_cast<uint32_t>(domains_->size());
  domains_->push_back(this);
  self_ = std::static_pointer_cast<Domain>(shared_from_this());
  shutdownAtExit(self_);
  napi_add_async_cleanup_hook(
      env,
      [](napi_async_cleanup_hook_handle, void* data) {
        auto* domain = static_cast<Domain*>(data);
        stopDriversOf(domain->env());
        domain->end();
      },
      this, &hook_);
}

void Domain::defer(std::function<void()> task) {
  if (closed()) return;
  engine_->defer(std::move(task));
  if (engine_->control().sleeping.load() != 0) driver_->wake();
}

bool Domain::stop() {
  const bool stopped = driver_->stop();
  if (!stopped_) stopped_ = std::chrono::steady_clock::now();
  return stopped;
}

bool Domain::mustLinger() const {
  const auto endpoints = childrenOf<Endpoint>();
  return std::any_of(endpoints.begin(), endpoints.end(), [](const auto& endpoint) {
    return !endpoint->draining && endpoint->announced();
  });
}

int Domain::shutdown() {
  if (closed()) return 0;
  if (!stop()) return leak();
  bool lingers = false;
  {
    const Hold hold(*engine_, std::nothrow);  // a registration may add a child
    if (!hold) return leak();
    lingers = mustLinger();
  }
  if (lingers) std::this_thread::sleep_until(*stopped_ + Endpoint::kLinger);
  const Hold hold(*engine_, std::nothrow);
  if (!hold) return leak();
  engine_->closings.drain(childrenOf<Endpoint>());
  return closeNow();
}

// The provider call may still return, and its thread then continues to use the domain.
int Domain::leak() {
  static std::mutex mutex;
  static auto& leaked = *std::make_unique<std::vector<std::shared_ptr<void>>>().release();
  const std::lock_guard<std::mutex> lock(mutex);
  leaked.push_back(shared_from_this());
  leaked.push_back(fabric_->share());
  setLeaked();
  skipDestructorsAtExit();
  return -FI_ETIMEDOUT;
}

int Domain::closeSelf() {
  local_peers::removeDomain(*this);
  Parking& parking = engine_->parking;
  parking.closeUnreachable();
  if (engine_->closings.frozen()) {
    parking.keep(shared_from_this());  // including its memory
  } else {
    placeholderRegion_.close();
    engine_->memories.forEach([](uint32_t, Memory& memory) { memory.local.close(); });
  }
  stuck_ = parking.stuck();
  if (parking.empty()) refusal_ = domain_.close();
  if (refusal_ != 0 || !parking.empty()) {
    parking.refuse(-refusal_);
    parking.keep(std::make_shared<Fid<fid_domain>>(std::move(domain_)));
    parking.keep(std::make_shared<SharedTable<Memory>>(std::move(engine_->memories)));
    parking.keep(fabric_->share());
    const auto name = [](const char* given) { return given == nullptr ? "" : given; };
    parking.describe(name(info_->fabric_attr->prov_name), name(info_->domain_attr->name));
    Parking::orphan(std::move(parking));
  }
  Parking::closeUnreachableOrphans();
  engine_->release();
  return 0;
}

int Domain::end() {
  const int ret = shutdown();
  retire();
  return ret;
}

void Domain::retire() {
  if (!self_) return;
  forgetAtExit(this);
  (*domains_)[number_] = nullptr;
  driver_->close([self = std::move(self_)] { napi_remove_async_cleanup_hook(self->hook_); });
}

}  // namespace fab
