// The efa provider's own queries of regions, addresses and queues.

#include <string>

#include "../engine/dispatch.h"
#include "../engine/endpoint.h"
#include "../engine/memory_region.h"
#include "../objects/domain.h"
#include "../providers/efa_ops.h"
#include "../providers/info.h"
#include "addon.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

using efa::Queries;

constexpr uint32_t kQueriesInDomainOps = FI_VERSION(2, 2);

// Returns a table of the provider's operations. Throws FI_ENOSYS, with the requirements in `needs`,
// if the provider has no such table.
template <typename Table>
const Table& tableOf(fid& fid, const fi_info& info, const char* name, const char* needs) {
  void* table = nullptr;
  int ret = -FI_ENOSYS;
  // A layer above the provider has objects of its own, which efa would mistake for its own.
  if (providerOf(info) == "efa") ret = fi_open_ops(&fid, name, 0, &table, nullptr);
  // The provider returns FI_EINVAL for an unknown name.
  if (ret == -FI_EINVAL) ret = -FI_ENOSYS;
  if (ret != 0) throw FabricFailure(-ret, "fi_open_ops", std::string("this needs ") + needs);
  return *static_cast<const Table*>(table);
}

const efa::GdaOps& gdaOps(const Domain& domain) {
  return tableOf<efa::GdaOps>(domain.get()->fid, domain.info(), efa::kGdaOps,
                              "libfabric 2.3 and the fabric efa-direct");
}

Queries queriesOf(const Domain& domain) {
  if (fi_version() != kQueriesInDomainOps) return gdaOps(domain).queries;
  return tableOf<efa::DomainOps>(domain.get()->fid, domain.info(), efa::kDomainOps, "libfabric 2.2")
      .queries;
}

const MemoryRegion& regionOf(const Domain& domain, const Napi::Value& handle) {
  const Memory* memory = domain.engine().memories.find(handle.ToNumber().Uint32Value());
  if (memory != nullptr && !memory->closing && memory->region) return *memory->region;
  throw Misuse(Misuse::Kind::kState, "ERR_CLOSED", "the memory region is closed");
}

template <typename T>
std::shared_ptr<T> ofDomain(const Domain& domain, const Napi::Value& handle, const char* name) {
  auto object = unwrap<T>(handle);
  if (&object->engine() == &domain.engine()) return object;
  throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_VALUE",
               std::string(name) + " belongs to another domain");
}

void checkQuery(int ret, const char* call) { check(asFabricError(ret), call); }

// efaQueryMr(domain, memory): the interconnect ids that the device reports for the region.
Napi::Value efaQueryMr(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  const Hold hold(domain->engine());
  const auto& ops = tableOf<efa::DomainOps>(domain->get()->fid, domain->info(), efa::kDomainOps,
                                            "libfabric 1.22");
  efa::RegionAttributes found{};
  checkQuery(ops.queryMr(regionOf(*domain, args[1]).get(), &found), "query_mr");
  auto result = Napi::Object::New(args.Env());
  const auto tell = [&](uint16_t has, const char* name, uint16_t id) {
    if ((found.validity & has) != 0) result.Set(name, uint32_t{id});
  };
  tell(efa::kHasReceive, "recvIcId", found.receive);
  tell(efa::kHasRdmaRead, "rdmaReadIcId", found.rdmaRead);
  tell(efa::kHasRdmaReceive, "rdmaRecvIcId", found.rdmaReceive);
  return result;
}

// efaGetMrLkey(domain, memory)
Napi::Value efaGetMrLkey(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  const Hold hold(domain->engine());
  const uint64_t key = gdaOps(*domain).getMrLkey(regionOf(*domain, args[1]).get());
  if (key == FI_KEY_NOTAVAIL) throw FabricFailure(FI_ENODATA, "get_mr_lkey");
  return Napi::BigInt::New(args.Env(), key);
}

// efaQueryAddr(domain, endpoint, peer)
Napi::Value efaQueryAddr(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  const auto endpoint = ofDomain<Endpoint>(*domain, args[1], "endpoint");
  const Hold hold(domain->engine());
  const Peer* peer = domain->engine().peers.find(args[2].ToNumber().Uint32Value());
  if (peer == nullptr || peer->av != endpoint->av.get()) {
    throw FabricFailure(FI_EADDRNOTAVAIL, "query_addr");
  }
  uint16_t handle = 0;
  uint16_t number = 0;
  uint32_t key = 0;
  const Queries queries = queriesOf(*domain);
  checkQuery(queries.queryAddr(endpoint->opened(), peer->address, &handle, &number, &key),
             "query_addr");
  auto result = Napi::Object::New(args.Env());
  result.Set("ahn", uint32_t{handle});
  result.Set("remoteQpn", uint32_t{number});
  result.Set("remoteQkey", key);
  return result;
}

Napi::Value addressOf(Napi::Env env, const void* pointer) {
  return Napi::BigInt::New(env, uint64_t{reinterpret_cast<uintptr_t>(pointer)});
}

Napi::Object workQueueToJs(Napi::Env env, const efa::WorkQueue& queue) {
  auto result = Napi::Object::New(env);
  result.Set("buffer", addressOf(env, queue.buffer));
  result.Set("entrySize", queue.entrySize);
  result.Set("numEntries", queue.entries);
  result.Set("doorbell", addressOf(env, queue.doorbell));
  result.Set("maxBatch", queue.maxBatch);
  auto caps = Napi::Array::New(env);
  if ((queue.caps & efa::kHas64BitIds) != 0) caps.Set(0u, "FI_EFA_WQ_CAPS_64_BIT_REQ_ID");
  result.Set("caps", caps);
  return result;
}

// efaQueryQpWqs(domain, endpoint): { sq, rq }
Napi::Value efaQueryQpWqs(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  const auto endpoint = ofDomain<Endpoint>(*domain, args[1], "endpoint");
  const Hold hold(domain->engine());
  efa::WorkQueue send{};
  efa::WorkQueue receive{};
  checkQuery(queriesOf(*domain).queryQpWqs(endpoint->opened(), &send, &receive), "query_qp_wqs");
  auto result = Napi::Object::New(args.Env());
  result.Set("sq", workQueueToJs(args.Env(), send));
  result.Set("rq", workQueueToJs(args.Env(), receive));
  return result;
}

// efaQueryCq(domain, cq)
Napi::Value efaQueryCq(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  const auto queue = ofDomain<CompletionQueue>(*domain, args[1], "cq");
  const Hold hold(domain->engine());
  efa::CompletionQueueMemory found{};
  checkQuery(queriesOf(*domain).queryCq(queue->get(), &found), "query_cq");
  auto result = Napi::Object::New(args.Env());
  result.Set("buffer", addressOf(args.Env(), found.buffer));
  result.Set("entrySize", found.entrySize);
  result.Set("numEntries", found.entries);
  return result;
}

// efaQueryFeature(domain, feature)
Napi::Value efaQueryFeature(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  const std::string feature = args[1].ToString();
  const Hold hold(domain->engine());
  const auto& ops = tableOf<efa::FeatureOps>(domain->fabric().get()->fid, domain->info(),
                                             efa::kFeatureOps, "libfabric 2.6");
  return Napi::Boolean::New(args.Env(), ops.query(feature.c_str()));
}

}  // namespace

void exportEfa(Napi::Object exports) {
  exportFunction<efaQueryMr>(exports, "efaQueryMr");
  exportFunction<efaGetMrLkey>(exports, "efaGetMrLkey");
  exportFunction<efaQueryAddr>(exports, "efaQueryAddr");
  exportFunction<efaQueryQpWqs>(exports, "efaQueryQpWqs");
  exportFunction<efaQueryCq>(exports, "efaQueryCq");
  exportFunction<efaQueryFeature>(exports, "efaQueryFeature");
}

}  // namespace fab
