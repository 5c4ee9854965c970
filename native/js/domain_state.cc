// The open objects and in-flight operations of a domain, as plain values for dumpState().

#include <rdma/fi_domain.h>

#include "../engine/counter.h"
#include "../engine/endpoint.h"
#include "../engine/memory_region.h"
#include "../objects/domain.h"
#include "addon.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

// An array of plain objects that is filled one by one.
class Rows {
 public:
  explicit Rows(Napi::Env env) : array_(Napi::Array::New(env)) {}
  Napi::Object add() {
    auto row = Napi::Object::New(array_.Env());
    array_.Set(array_.Length(), row);
    return row;
  }
  Napi::Array array() const { return array_; }

 private:
  Napi::Array array_;
};

Napi::Array endpointRows(Napi::Env env, Engine& engine) {
  Rows rows(env);
  engine.endpoints.forEach([&](uint32_t handle, const Endpoint* endpoint) {
    auto row = rows.add();
    row.Set("id", handle);
    row.Set("inFlight", endpoint->inFlight);
    row.Set("waitingSends", static_cast<double>(endpoint->waitingSends.size()));
    row.Set("waitingReceives",
            static_cast<double>(endpoint->waitingReceives.size() + endpoint->behindBuffer.size()));
    row.Set("closing", endpoint->closing);
    row.Set("left", endpoint->draining);
    row.Set("broken", endpoint->broken);
    row.Set("sendQueue", endpoint->sendQueue->handle);
    row.Set("receiveQueue", endpoint->receiveQueue->handle);
  });
  return rows.array();
}

Napi::Array queueRows(Napi::Env env, const Engine& engine) {
  Rows rows(env);
  for (const CompletionQueue* queue : engine.queues()) {
    auto row = rows.add();
    row.Set("id", queue->handle);
    row.Set("size", static_cast<double>(queue->size()));
    row.Set("waitable", queue->waitable());
    row.Set("broken", queue->broken);
  }
  return rows.array();
}

Napi::Array batchRows(Napi::Env env, Engine& engine) {
  Rows rows(env);
  engine.batches.table.forEach([&](uint32_t handle, const std::unique_ptr<Batch>& batch) {
    auto row = rows.add();
    row.Set("id", handle);
    row.Set("sends", batch->counts.send);
    row.Set("receives", batch->counts.receive);
    row.Set("inFlight", batch->runs);
  });
  return rows.array();
}

Napi::Array vectorRows(Napi::Env env, const Domain& domain) {
  Rows rows(env);
  for (const auto& av : domain.childrenOf<AddressVector>()) {
    rows.add().Set("peers", static_cast<double>(av->size()));
  }
  return rows.array();
}

Napi::Array counterRows(Napi::Env env, const Domain& domain) {
  Rows rows(env);
  for (const auto& counter : domain.childrenOf<Counter>()) {
    auto row = rows.add();
    row.Set("value", std::to_string(fi_cntr_read(counter->get())));
    row.Set("errors", std::to_string(fi_cntr_readerr(counter->get())));
  }
  return rows.array();
}

Napi::Object memoryRow(Napi::Env env, Engine& engine) {
  double regions = 0;
  double registered = 0;
  double buffers = 0;
  double inUse = 0;
  engine.memories.forEach([&](uint32_t, const Memory& memory) {
    const auto bytes = static_cast<double>(memory.length);
    (memory.desc != nullptr || memory.region ? regions : buffers) += 1;
    if (memory.desc != nullptr || memory.region) registered += bytes;
    if (memory.inFlight > 0) inUse += bytes;
  });
  auto row = Napi::Object::New(env);
  row.Set("regions", regions);
  row.Set("registeredBytes", registered);
  row.Set("buffers", buffers);
  row.Set("bytesInUse", inUse);
  return row;
}

// The addresses of peers. Each address is looked up once.
class PeerNames {
 public:
  explicit PeerNames(Engine& engine) : engine_(engine) {}
  const std::string& of(uint32_t handle) {
    const auto [found, isNew] = names_.try_emplace(handle);
    const Peer* peer = isNew ? engine_.peers.find(handle) : nullptr;
    if (peer != nullptr) found->second = peer->av->nameOf(handle);
    return found->second;
  }

 private:
  Engine& engine_;
  std::unordered_map<uint32_t, std::string> names_;
};

const char* nameOf(InFlight::State state) {
  switch (state) {
    case InFlight::State::kWaiting:
      return "waiting";
    case InFlight::State::kPosted:
      return "posted";
    default:
      return "ending";
  }
}

// Sets at most `limit` operations, and their total number.
void setOperations(Napi::Object result, Engine& engine, uint32_t limit) {
  const Napi::Env env = result.Env();
  Rows rows(env);
  PeerNames names(engine);
  double total = 0;
  engine.forEachInFlight([&](const InFlight& each) {
    if (++total > limit) return;
    auto row = rows.add();
    row.Set("call", each.call);
    row.Set("state", nameOf(each.state));
    if (each.request != kNoRequest) row.Set("request", each.request);
    if (each.endpoint != 0) row.Set("endpoint", each.endpoint);
    if (each.peer != 0) row.Set("peer", names.of(each.peer));
    if (each.length > 0) row.Set("byteLength", each.length);
    if (each.remaining > 0) row.Set("remaining", static_cast<double>(each.remaining));
  });
  result.Set("inFlight", total);
  result.Set("operations", rows.array());
}

// domainState(domain, limit, timeout): undefined if the engine cannot be held within `timeout`
// milliseconds, because a provider call hangs.
Napi::Value domainState(const Napi::CallbackInfo& args) {
  const Napi::Env env = args.Env();
  const auto domain = unwrapAny<Domain>(args[0]);
  const auto limit = args[1].As<Napi::Number>().Uint32Value();
  const std::chrono::milliseconds timeout(args[2].As<Napi::Number>().Uint32Value());
  Engine& engine = domain->engine();
  const Hold hold(engine, timeout);
  if (!hold || domain->closed()) return env.Undefined();
  engine.runTasks();
  auto result = Napi::Object::New(env);
  result.Set("frozen", engine.closings.frozen());
  result.Set("endpoints", endpointRows(env, engine));
  result.Set("completionQueues", queueRows(env, engine));
  result.Set("addressVectors", vectorRows(env, *domain));
  result.Set("counters", counterRows(env, *domain));
  result.Set("memory", memoryRow(env, engine));
  result.Set("batches", batchRows(env, engine));
  setOperations(result, engine, limit);
  return result;
}

// parkedDomains(): closed objects that could not be freed, of all closed domains of the process.
Napi::Value parkedDomains(const Napi::CallbackInfo& args) {
  Rows rows(args.Env());
  for (const Parking::Summary& parked : Parking::orphans()) {
    auto row = rows.add();
    row.Set("provider", parked.provider);
    row.Set("domain", parked.domain);
    row.Set("endpoints", static_cast<double>(parked.endpoints));
    row.Set("refused", parked.refused);
  }
  return rows.array();
}

}  // namespace

void exportDomainState(Napi::Object exports) {
  exportFunction<domainState>(exports, "domainState");
  exportFunction<parkedDomains>(exports, "parkedDomains");
}

}  // namespace fab
