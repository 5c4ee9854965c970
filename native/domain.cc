#include "domain.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "addon.h"
#include "completion_queue.h"
#include "endpoint.h"
#include "engine/manual.h"
#include "exit_registry.h"
#include "exports.h"
#include "info.h"
#include "local_peers.h"
#include "provider_traits.h"
#include "util/backing_store.h"
#include "util/handle.h"
#include "util/on_exception.h"
#include "util/random_bits.h"
#include "values.h"

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

void Domain::start(napi_env env, std::shared_ptr<Driver> driver) {
  driver_ = std::move(driver);
  env_ = env;
  domains_ = Addon::of(env).domains;
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

bool Domain::stop() {
  const bool stopped = driver_->stop();
  if (!stopped_) stopped_ = std::chrono::steady_clock::now();
  return stopped;
}

void Domain::linger() const {
  const auto endpoints = childrenOf<Endpoint>();
  const auto announced = [](const auto& endpoint) {
    return !endpoint->draining && endpoint->announced();
  };
  if (std::none_of(endpoints.begin(), endpoints.end(), announced)) return;
  std::this_thread::sleep_until(*stopped_ + Endpoint::kLinger);
}

int Domain::shutdown() {
  if (closed()) return 0;
  if (!stop()) return leak();
  linger();
  const Hold hold(*engine_, std::nothrow);
  if (!hold) return leak();
  engine_->drain(childrenOf<Endpoint>());
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
  if (engine_->frozen()) {
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

namespace {

constexpr uint32_t kSubmissionEntries = 8192;  // 512 KiB; further operations queue in the lanes
constexpr uint32_t kCompletionEntries = 8192;

// Whether an idle driver may sleep until a file descriptor wakes it, by fi_trywait(3).
bool canSleep(const Domain& domain) {
  std::vector<fid*> fids;
  for (const CompletionQueue* queue : domain.engine().queues()) {
    if (queue->waitable()) {
      fids.push_back(&queue->get()->fid);
    } else if (queue->endpoints > 0 || !domain.engine().parking.empty()) {
      return false;
    }
  }
  return fids.empty() || fi_trywait(domain.fabric().get(), fids.data(),
                                    static_cast<int>(fids.size())) == FI_SUCCESS;
}

std::vector<int> waitFds(const Domain& domain) {
  std::vector<int> fds;
  for (const CompletionQueue* queue : domain.engine().queues()) {
    int fd = -1;
    if (!queue->waitable()) continue;
    if (fi_control(&queue->get()->fid, FI_GETWAIT, &fd) == FI_SUCCESS && fd >= 0) {
      fds.push_back(fd);
    }
  }
  return fds;
}

DriverOptions driverOptions(const Napi::Object& options) {
  DriverOptions result;
  const auto cores = options.Get("affinity").As<Napi::Array>();
  for (uint32_t i = 0; i < cores.Length(); ++i) {
    result.affinity.push_back(
        static_cast<int>(unsignedFromJs(cores.Get(i), "affinity", CPU_SETSIZE - 1)));
  }
  constexpr uint64_t kMaxMicroseconds = 60'000'000;
  result.spin =
      std::chrono::microseconds(unsignedFromJs(options.Get("spin"), "spin", kMaxMicroseconds));
  result.idle =
      std::chrono::microseconds(unsignedFromJs(options.Get("idle"), "idle", kMaxMicroseconds));
  return result;
}

// The thread of another domain, which is to turn this one as well. Null if there is no other.
std::shared_ptr<PollThread> threadOf(const Napi::Value& other) {
  if (other.IsUndefined()) return nullptr;
  const auto domain = unwrap<Domain>(other);
  auto thread = domain->driver().thread();
  if (!thread) throw Napi::Error::New(other.Env(), "the other domain has no thread");
  return thread;
}

std::shared_ptr<Driver> makeDriver(Napi::Env env, const std::string& kind, Engine& engine,
                                   DriverOptions options, std::shared_ptr<PollThread> thread,
                                   const Napi::Value& function) {
  if (kind == "manual") return makeManualDriver();
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(env, &loop);
  Drain drain(env, function);
  const OnException undo([&] { drain.release(); });
  return kind == "loop"
             ? makeLoopDriver(engine, std::move(options), loop, drain)
             : makeThreadDriver(engine, std::move(options), loop, drain, std::move(thread));
}

// domainOpen(fabric, info, options, drain)
Napi::Value domainOpen(const Napi::CallbackInfo& args) {
  const Napi::Env env = args.Env();
  const auto fabric = unwrap<Fabric>(args[0]);
  const auto entry = unwrap<Info>(args[1])->info;
  const auto options = args[2].As<Napi::Object>();
  const std::string kind = options.Get("driver").ToString();
  DriverOptions driving = driverOptions(options);
  auto thread = threadOf(options.Get("threadOf"));

  Fid<fid_domain> fid;
  naming(*entry,
         [&] { check(fi_domain(fabric->get(), entry.get(), fid.out(), nullptr), "fi_domain"); });
  auto engine = std::make_unique<Engine>(kSubmissionEntries, kCompletionEntries);
  auto domain = std::make_shared<Domain>(fabric, std::move(fid), entry, std::move(engine));
  domain->registerPlaceholder();
  driving.canSleep = [open = domain.get()] { return canSleep(*open); };
  driving.waitFds = [open = domain.get()] { return waitFds(*open); };
  const auto driver =
      makeDriver(env, kind, domain->engine(), std::move(driving), std::move(thread), args[3]);
  domain->dependsOn(fabric);
  domain->start(env, driver);
  const OnException undo([&] { domain->end(); });

  Engine& running = domain->engine();
  auto block = [&](const std::shared_ptr<SharedBlock>& shared) {
    return toBuffer(env, shared, shared->data(), shared->size());
  };
  auto result = Napi::Object::New(env);
  result.Set("handle", wrapHandle(env, domain));
  result.Set("control", block(running.controlBlock()));
  result.Set("submissions", block(running.submissionBlock()));
  result.Set("completions", block(running.completionBlock()));
  result.Set("number", Napi::Number::New(env, domain->number()));
  return result;
}

// domainOverdue(domain, milliseconds): whether a provider call that took so long would exceed its
// limit.
Napi::Value domainOverdue(const Napi::CallbackInfo& args) {
  const CallLimit::Milliseconds taken(args[1].ToNumber().Int64Value());
  const bool overdue = unwrapAny<Domain>(args[0])->engine().callLimit().isOverdue(taken);
  return Napi::Boolean::New(args.Env(), overdue);
}

// domainStop(domain): asks the driver to stop. Returns the milliseconds left to wait for that: 0 if
// the driver has stopped, negative if it is overdue.
Napi::Value domainStop(const Napi::CallbackInfo& args) {
  const auto domain = unwrapAny<Domain>(args[0]);
  const auto left = domain->closed() ? CallLimit::Milliseconds(0) : domain->driver().requestStop();
  return Napi::Number::New(args.Env(), static_cast<double>(left.count()));
}

// domainClose(domain): stops the engine and closes everything under the domain. Returns
// { endpoints, refused }: the number of endpoints that could not be closed, and the fi_errno(3)
// with which fi_close(3) refused the domain.
Napi::Value domainClose(const Napi::CallbackInfo& args) {
  const auto domain = unwrapAny<Domain>(args[0]);
  if (domain->closed()) return args.Env().Undefined();
  // Handles the last submissions, such as closes of regions and removals of peers.
  if (domain->stop()) turnLast(domain->engine());
  const int ret = domain->end();
  if (ret == -FI_ETIMEDOUT) throw CallLimit::failure("fi_close");
  check(ret, "fi_close");
  auto result = Napi::Object::New(args.Env());
  result.Set("endpoints", static_cast<double>(domain->stuck()));
  result.Set("refused", -domain->refusal());
  return result;
}

}  // namespace

void exportDomain(Napi::Object exports) {
  exportFunction<domainOpen>(exports, "domainOpen");
  exportFunction<domainOverdue>(exports, "domainOverdue");
  exportFunction<domainStop>(exports, "domainStop");
  exportFunction<domainClose>(exports, "domainClose");
}

}  // namespace fab
