#include "../objects/domain.h"

#include <sched.h>

#include <algorithm>
#include <chrono>

#include "../engine/completion_queue.h"
#include "../engine/manual.h"
#include "../providers/info.h"
#include "../providers/provider_traits.h"
#include "../util/on_exception.h"
#include "addon.h"
#include "backing_store.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

constexpr uint32_t kSubmissionEntries = 8192;  // 512 KiB; further operations wait in queues
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

std::chrono::microseconds millisecondsFromJs(const Napi::Value& value) {
  constexpr double kMost = 60'000;
  const double given = value.As<Napi::Number>();
  const std::chrono::duration<double, std::milli> time(given > 0 ? std::min(given, kMost) : 0);
  return std::chrono::duration_cast<std::chrono::microseconds>(time);
}

DriverOptions driverOptions(const Napi::Object& options) {
  DriverOptions result;
  const auto cores = options.Get("affinity").As<Napi::Array>();
  for (uint32_t i = 0; i < cores.Length(); ++i) {
    result.affinity.push_back(
        static_cast<int>(unsignedFromJs(cores.Get(i), "affinity", CPU_SETSIZE - 1)));
  }
  result.spin = millisecondsFromJs(options.Get("spin"));
  result.busyPoll = millisecondsFromJs(options.Get("busyPoll"));
  result.idle = std::max(millisecondsFromJs(options.Get("idle")), std::chrono::microseconds(1));
  return result;
}

// The thread of another domain, which must turn this domain as well. Null if there is no other
// domain.
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
  domain->start(env, Addon::of(env).domains, driver);
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
