#include "endpoint.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <sys/mman.h>

#include <vector>

#include "addon.h"
#include "bounded_close.h"
#include "counter.h"
#include "datatype.h"
#include "domain.h"
#include "exit_registry.h"
#include "flags.h"
#include "info.h"
#include "local_peers.h"
#include "shared_regions.h"
#include "util/handle.h"
#include "util/on_exception.h"
#include "values.h"

namespace fab {

int Endpoint::closeSelf() {
  closing = true;
  const int ret = closeOrPark();
  if (ret != 0) return ret;
  engine_.abandon(*this);
  staging.reset();
  copied.reset();
  receiveStaging.reset();
  engine_.removeEndpoint(*this);
  return 0;
}

int Endpoint::closeOrPark() {
  engine_.parking.closeUnreachable();
  const bool reachable = !name.empty() && !local_peers::removeEndpoint(name);
  bool stuck = waits() || engine_.frozen();
  if (!reachable && !stuck) {
    // fi_close(3) takes 15 to 40 ms on softefa.
    constexpr auto kCloseTimeout = std::chrono::milliseconds(500);
    const int ret = waitsInClose ? closeWithin(ep_, kCloseTimeout) : ep_.close();
    if (ret == 0) return events_.close();
    if (ret != -FI_ETIMEDOUT) return ret;
    stuck = true;
    engine_.freeze(*this);
    skipDestructorsAtExit();
  }
  // The provider would remove the file in fi_close(3).
  if (stuck && !region.empty()) shm_unlink(("/" + region).c_str());
  engine_.recall(*this);
  // The operations in flight keep their memory, even after these peers have closed.
  engine_.parking.park(
      {{staging, copied, receiveStaging}, std::move(events_), std::move(ep_), name, stuck});
  return 0;
}

bool Endpoint::announced() const {
  return !name.empty() && hasSent && local_peers::hasForeignPeers(av->domain());
}

void Endpoint::belongsTo(const std::shared_ptr<Domain>& domain,
                         const std::shared_ptr<AddressVector>& vector,
                         const std::shared_ptr<CompletionQueue>& sends,
                         const std::shared_ptr<CompletionQueue>& receives) {
  av = vector;
  sendQueue = sends;
  receiveQueue = receives;
  ++sends->endpoints;
  ++receives->endpoints;
  if ((caps & FI_SOURCE) != 0) receives->readSources = true;
  dependsOn(domain);
  dependsOn(vector);
  dependsOn(sends);
  if (receives != sends) dependsOn(receives);
}

void Endpoint::addToLocalPeers(const std::string& address) {
  if (!local_peers::addEndpoint(address, av->domain())) {
    throw FabricFailure(FI_EADDRINUSE, "fi_enable",
                        "peers in this process still use a closed endpoint with this address");
  }
  name = address;
}

bool Endpoint::copies(const Operation& o) const {
  const bool message = o.code == OpCode::kSend || o.code == OpCode::kTsend;
  return registers && copiedSends == 0 && message && o.segments == 0 &&
         o.length <= static_cast<double>(copied->capacity());
}

Staging* Endpoint::stagingFor(const Operation& o, const void* desc) const {
  if (staging) return staging.get();
  if (isReceive(o.code) || isInject(o.code)) return nullptr;
  if (isCarried(o) || (desc == nullptr && copies(o))) return copied.get();
  return nullptr;
}

namespace {

std::vector<uint8_t> addressOf(fid_ep* ep) {
  size_t length = 0;
  fi_getname(&ep->fid, nullptr, &length);
  std::vector<uint8_t> bytes(std::max<size_t>(length, 1));
  length = bytes.size();
  check(fi_getname(&ep->fid, bytes.data(), &length), "fi_getname");
  bytes.resize(std::min(length, bytes.size()));
  return bytes;
}

Napi::Uint8Array bytesToJs(Napi::Env env, const std::vector<uint8_t>& bytes) {
  auto result = Napi::Uint8Array::New(env, bytes.size());
  std::copy(bytes.begin(), bytes.end(), result.Data());
  return result;
}

struct BoundCounter {
  std::shared_ptr<Counter> counter;
  uint64_t flags;
};

std::vector<BoundCounter> countersFromJs(const Napi::Array& list, const Engine& engine) {
  std::vector<BoundCounter> counters;
  for (uint32_t i = 0; i < list.Length(); ++i) {
    const auto pair = list.Get(i).As<Napi::Object>();
    auto counter = unwrap<Counter>(pair.Get("counter"));
    if (&counter->engine() != &engine) {
      throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_VALUE",
                   "options.counters must contain counters of this domain");
    }
    counters.push_back(
        {std::move(counter), flagsFromJs(pair.Get("flags"), kCaps, "counters.flags")});
  }
  return counters;
}

struct Option {
  int level;
  int name;
  std::vector<uint8_t> value;
};

std::vector<Option> optionsFromJs(const Napi::Array& list) {
  std::vector<Option> options;
  for (uint32_t i = 0; i < list.Length(); ++i) {
    const auto option = list.Get(i).As<Napi::Object>();
    const auto value = option.Get("value").As<Napi::Uint8Array>();
    options.push_back({option.Get("level").ToNumber(),
                       option.Get("name").ToNumber(),
                       {value.Data(), value.Data() + value.ByteLength()}});
  }
  return options;
}

void setOptions(fid_ep* ep, const std::vector<Option>& options) {
  for (const Option& option : options) {
    check(fi_setopt(&ep->fid, option.level, option.name, option.value.data(), option.value.size()),
          "fi_setopt");
  }
}

// Whether the endpoint supports fi_cancel(3). No operation has this context.
bool cancels(fid_ep* ep) {
  static fi_context2 unknown{};
  return fi_cancel(&ep->fid, &unknown) != -FI_ENOSYS;
}

// The maximum message size in bytes, which FI_OPT_MAX_MSG_SIZE may have reduced. If it is at most
// an MTU, efa (2.0 to 2.5) receives into the caller's memory, which must then be registered.
size_t longestMessage(fid_ep* ep, const fi_info& info) {
  constexpr int kMaxMsgSize = 12;  // FI_OPT_MAX_MSG_SIZE: libfabric 1.22
  size_t longest = 0;
  size_t length = sizeof(longest);
  const int ret = fi_getopt(&ep->fid, FI_OPT_ENDPOINT, kMaxMsgSize, &longest, &length);
  return ret == 0 ? longest : info.ep_attr->max_msg_size;
}

// Allocates the package's own memory for messages of an endpoint that need it: datagrams whose
// provider needs prefix space or registered memory, and receives that cannot be cancelled.
void giveMemory(Endpoint& endpoint, const Domain& domain, const fi_info& info, bool forced) {
  const bool datagrams = info.ep_attr->type == FI_EP_DGRAM;
  const bool prefixed = datagrams && (info.mode & FI_MSG_PREFIX) != 0;
  const bool local = (domain.mrMode() & FI_MR_LOCAL) != 0;
  const bool staged = datagrams && (prefixed || local || forced);
  constexpr uint64_t kChoose = FI_TAGGED | FI_DIRECTED_RECV;
  constexpr size_t kMost = size_t{64} * 1024;
  const bool fits = (info.caps & kChoose) == 0 && info.ep_attr->max_msg_size <= kMost;
  Staging::Layout layout{};
  layout.prefix = prefixed ? info.ep_attr->msg_prefix_size : 0;
  layout.payload = info.ep_attr->max_msg_size;
  const bool registered = local || forced;
  if (staged) {
    layout.access = registered ? FI_SEND : 0;
    endpoint.staging = std::make_shared<Staging>(domain.get(), layout, info.tx_attr->size);
  }
  // Few providers have room for more sends. Operations without a slot wait.
  constexpr size_t kSlots = 1024;
  endpoint.registers = local;
  const bool copies = fits && copiedBytes(info) == 0 && local;
  const Staging::Layout small{0, copies ? layout.payload : kCarried,
                              local ? domain.localAccess() : 0};
  endpoint.copied =
      std::make_shared<Staging>(domain.get(), small, std::max(info.tx_attr->size, kSlots));
  endpoint.copiedSends = endpoint.copiedReceives = copiedBytes(info);
  if (longestMessage(endpoint.get(), info) <= kMost) endpoint.copiedReceives = 0;
  const bool receivesStaged = staged || (fits && !cancels(endpoint.get()));
  if (!receivesStaged || (info.caps & FI_MSG) == 0) return;
  layout.access = registered ? FI_RECV : 0;
  endpoint.receiveStaging =
      std::make_shared<ReceiveStaging>(domain.get(), layout, info.rx_attr->size);
  ++endpoint.receiveQueue->stagedEndpoints;
}

Fid<fid_eq> openEvents(const Fabric& fabric) {
  fi_eq_attr attr{};
  attr.wait_obj = FI_WAIT_NONE;
  Fid<fid_eq> events;
  check(fi_eq_open(fabric.get(), &attr, events.out(), nullptr), "fi_eq_open");
  return events;
}

int enable(fid_ep* ep, bool twice) {
  const int ret = fi_enable(ep);
  return twice && ret == -FI_EBUSY ? fi_enable(ep) : ret;
}

// Opens, binds and enables an endpoint. If a step fails, the endpoint is closed.
Napi::Value openEndpoint(const Napi::CallbackInfo& args) {
  const Napi::Env env = args.Env();
  const auto domain = unwrap<Domain>(args[0]);
  const auto entry = unwrap<Info>(args[1])->info;
  const auto options = args[2].As<Napi::Object>();
  const auto av = unwrap<AddressVector>(options.Get("av"));
  const auto sendQueue = unwrap<CompletionQueue>(options.Get("sendQueue"));
  const auto receiveQueue = unwrap<CompletionQueue>(options.Get("receiveQueue"));
  if (&av->domain() != domain.get() || &sendQueue->engine() != &domain->engine() ||
      &receiveQueue->engine() != &domain->engine()) {
    throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_VALUE",
                 "the address vector and the completion queues must belong to this domain");
  }

  const std::vector<BoundCounter> counters =
      countersFromJs(options.Get("counters").As<Napi::Array>(), domain->engine());
  const std::vector<Option> settings = optionsFromJs(options.Get("options").As<Napi::Array>());
  const bool forced = options.Get("staging").ToBoolean();

  const Hold hold(domain->engine());
  domain->engine().parking.closeUnreachable();
  const ProviderTraits& traits = traitsOf(*entry);
  Fid<fid_eq> events = traits.breaksEndpoint ? openEvents(domain->fabric()) : Fid<fid_eq>();
  Fid<fid_ep> fid;
  check(fi_endpoint(domain->get(), entry.get(), fid.out(), nullptr), "fi_endpoint");
  if (!fid) throw FabricFailure(FI_ENOMEM, "fi_endpoint");  // shm (2.6) returns 0 in this case
  const auto bindVector = [&] { check(fi_ep_bind(fid.get(), &av->get()->fid, 0), "fi_ep_bind"); };
  if (!traits.keepsVectors) bindVector();
  if (events) check(fi_ep_bind(fid.get(), &events->fid, 0), "fi_ep_bind");
  if (!traits.optionsAfterEnable) setOptions(fid.get(), settings);
  if (sendQueue == receiveQueue) {
    check(fi_ep_bind(fid.get(), &sendQueue->get()->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  } else {
    check(fi_ep_bind(fid.get(), &sendQueue->get()->fid, FI_TRANSMIT), "fi_ep_bind");
    check(fi_ep_bind(fid.get(), &receiveQueue->get()->fid, FI_RECV), "fi_ep_bind");
  }
  for (const BoundCounter& bound : counters) {
    check(fi_ep_bind(fid.get(), &bound.counter->get()->fid, bound.flags), "fi_ep_bind");
  }
  if (traits.keepsVectors) bindVector();
  auto endpoint =
      std::make_shared<Endpoint>(domain->engine(), std::move(events), std::move(fid), *entry);
  endpoint->belongsTo(domain, av, sendQueue, receiveQueue);
  for (const BoundCounter& bound : counters) endpoint->dependsOn(bound.counter);
  const OnException undo([&] { endpoint->close(); });
  if (usesSharedMemory(*entry) && entry->addr_format == FI_ADDR_STR) {
    check(-shared_regions::tryToCreate(), "fi_enable");
  }
  check(enable(endpoint->get(), traits.retriesEnable), "fi_enable");
  if (traits.optionsAfterEnable) setOptions(endpoint->get(), settings);
  const std::vector<uint8_t> address = addressOf(endpoint->get());
  endpoint->region = shared_regions::nameOf(*entry, address.data());
  if (usesSharedMemory(*entry)) {
    endpoint->addToLocalPeers(local_peers::nameOf(*entry, address.data()));
    shared_regions::readOwnVersion(endpoint->region);
  }
  giveMemory(*endpoint, *domain, *entry, forced);
  domain->engine().addEndpoint(*endpoint);

  auto result = Napi::Object::New(env);
  result.Set("endpoint", endpoint->handle);
  result.Set("address", bytesToJs(env, address));
  result.Set("remoteData", std::min(entry->domain_attr->cq_data_size, traits.remoteData));
  result.Set("ownFlags", Napi::BigInt::New(env, traits.ownFlags));
  result.Set("handle", wrapHandle(env, endpoint));
  return result;
}

// endpointOpen(domain, info, { av, sendQueue, receiveQueue, counters, options, staging })
Napi::Value endpointOpen(const Napi::CallbackInfo& args) {
  return naming(*unwrap<Info>(args[1])->info, [&] { return openEndpoint(args); });
}

// endpointGetOption(ep, level, name, size): the bytes of the option's value.
Napi::Value endpointGetOption(const Napi::CallbackInfo& args) {
  const auto endpoint = unwrap<Endpoint>(args[0]);
  constexpr uint64_t kMaxOption = 4096;
  std::vector<uint8_t> value(static_cast<size_t>(unsignedFromJs(args[3], "size", kMaxOption)));
  size_t length = value.size();
  const Hold hold(endpoint->engine());
  check(fi_getopt(&endpoint->get()->fid, args[1].As<Napi::Number>().Int32Value(),
                  args[2].As<Napi::Number>().Int32Value(), value.data(), &length),
        "fi_getopt");
  value.resize(std::min(length, value.size()));
  return bytesToJs(args.Env(), value);
}

// endpointSetOption(ep, [{ level, name, value }])
Napi::Value endpointSetOption(const Napi::CallbackInfo& args) {
  const auto endpoint = unwrap<Endpoint>(args[0]);
  const std::vector<Option> options = optionsFromJs(args[1].As<Napi::Array>());
  const Hold hold(endpoint->engine());
  setOptions(endpoint->get(), options);
  return args.Env().Undefined();
}

// endpointAtomicQuery(ep, operands, datatype, op): the largest number of elements in one operation
// with this many operands (1 atomic, 2 fetch, 3 compare); 0 if the provider does not support it.
Napi::Value endpointAtomicQuery(const Napi::CallbackInfo& args) {
  const auto endpoint = unwrap<Endpoint>(args[0]);
  const uint32_t operands = args[1].As<Napi::Number>().Uint32Value();
  const auto datatype = static_cast<fi_datatype>(enumFromJs(args[2], kDatatypes, "datatype"));
  const auto op = static_cast<fi_op>(enumFromJs(args[3], kAtomicOps, "op"));
  const Hold hold(endpoint->engine());
  size_t count = 0;
  fid_ep* ep = endpoint->get();
  const int ret = operands == 1   ? fi_atomicvalid(ep, datatype, op, &count)
                  : operands == 2 ? fi_fetch_atomicvalid(ep, datatype, op, &count)
                                  : fi_compare_atomicvalid(ep, datatype, op, &count);
  if (ret == -FI_EOPNOTSUPP || ret == -FI_ENOSYS)
    count = 0;
  else
    check(ret, "fi_atomicvalid");
  auto result = Napi::Object::New(args.Env());
  result.Set("count", static_cast<double>(count));
  result.Set("size", static_cast<double>(datatypeSize(datatype)));
  result.Set("datatype", static_cast<double>(datatype));
  result.Set("op", static_cast<double>(op));
  return result;
}

}  // namespace

void exportEndpoint(Napi::Object exports) {
  exportFunction<endpointOpen>(exports, "endpointOpen");
  exportFunction<endpointGetOption>(exports, "endpointGetOption");
  exportFunction<endpointSetOption>(exports, "endpointSetOption");
  exportFunction<endpointAtomicQuery>(exports, "endpointAtomicQuery");
}

}  // namespace fab
