// Opens endpoints: binds them to their queues, counters and address vector, sets their options,
// enables them, and gives them the memory that their provider needs.
#include <rdma/fi_cm.h>

#include <algorithm>
#include <vector>

#include "../engine/counter.h"
#include "../engine/endpoint.h"
#include "../engine/resolve.h"
#include "../objects/domain.h"
#include "../objects/shm_handshake.h"
#include "../providers/info.h"
#include "../providers/local_peers.h"
#include "../providers/own_name.h"
#include "../providers/queue_sizes.h"
#include "../providers/region_lock.h"
#include "../providers/shared_regions.h"
#include "../util/on_exception.h"
#include "addon.h"
#include "endpoint_options_js.h"
#include "exports.h"
#include "flags_js.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

std::vector<uint8_t> addressOf(fid_ep* ep) {
  size_t length = 0;
  const int ret = fi_getname(&ep->fid, nullptr, &length);
  if (ret != -FI_ETOOSMALL) check(ret, "fi_getname");
  std::vector<uint8_t> bytes(std::max<size_t>(length, 1));
  length = bytes.size();
  check(fi_getname(&ep->fid, bytes.data(), &length), "fi_getname");
  bytes.resize(std::min(length, bytes.size()));
  return bytes;
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
  const size_t carried =
      endpoint.countsSends() ? std::max(kCarried, info.tx_attr->inject_size) : kCarried;
  const Staging::Layout small{0, copies ? layout.payload : carried,
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
Napi::Object openEndpoint(const Napi::CallbackInfo& args) {
  const Napi::Env env = args.Env();
  const auto domain = unwrap<Domain>(args[0]);
  const auto entry = withOwnName(unwrap<Info>(args[1])->info);
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
  const std::vector<EndpointOption> settings =
      endpointOptionsFromJs(options.Get("options").As<Napi::Array>());
  const bool forced = options.Get("staging").ToBoolean();

  const Hold hold(domain->engine());
  domain->engine().parking.closeUnreachable();
  for (const auto& queue : {sendQueue, receiveQueue}) {
    if (!queue->broken) continue;
    throw FabricFailure(queue->brokenBy, "fi_cq_read",
                        "the completion queue can no longer be read");
  }
  const ProviderTraits& traits = traitsOf(*entry);
  Fid<fid_eq> events = traits.breaksEndpoint ? openEvents(domain->fabric()) : Fid<fid_eq>();
  if (mapsLocalPeers(*entry)) removeFilesOfKilled();
  Fid<fid_ep> fid;
  queue_sizes::check(*entry);
  check(fi_endpoint(domain->get(), entry.get(), fid.out(), nullptr), "fi_endpoint");
  if (!fid) throw FabricFailure(FI_ENOMEM, "fi_endpoint");  // shm (2.6) returns 0 in this case
  const auto bindVector = [&] {
    const int ret = fi_ep_bind(fid.get(), &av->get()->fid, 0);
    if (ret != 0 && traits.closesWithVector) fid.leak();
    check(ret, "fi_ep_bind");
  };
  if (!traits.keepsVectors) bindVector();
  if (events) check(fi_ep_bind(fid.get(), &events->fid, 0), "fi_ep_bind");
  DmabufUse dmabufUse(fid.get(), *entry);
  if (!traits.optionsAfterEnable) setEndpointOptions(fid.get(), settings);
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
  for (const BoundCounter& bound : counters) {
    endpoint->dependsOn(bound.counter);
    if (!endpoint->takesSurplus || (bound.flags & FI_RECV) == 0) continue;
    bound.counter->overcounts = true;
    endpoint->receiveCounter = bound.counter;
  }
  const OnException undo([&] { endpoint->close(); });
  if (mapsLocalPeers(*entry) && !isDirect(*entry)) shared_regions::checkRoom();
  if (traits.takesOverRegions) {
    shared_regions::checkFree(shared_regions::nameOf(*entry, addressOf(endpoint->get()).data()));
  }
  check(enable(endpoint->get(), traits.retriesEnable), "fi_enable");
  if (traits.optionsAfterEnable) setEndpointOptions(endpoint->get(), settings);
  dmabufUse.update(endpoint->get(), settings);
  endpoint->dmabufUse = dmabufUse;
  const std::vector<uint8_t> address = addressOf(endpoint->get());
  endpoint->region = shared_regions::nameOf(*entry, address.data());
  if (mapsLocalPeers(*entry)) {
    endpoint->addToLocalPeers(local_peers::nameOf(*entry, address.data()));
    endpoint->regionLock = RegionLock::take(endpoint->region);
    shared_regions::readOwnVersion(endpoint->region);
  }
  giveMemory(*endpoint, *domain, *entry, forced);
  domain->engine().addEndpoint(*endpoint);
  domain->driver().wake();  // an idle thread does not poll a queue without endpoints

  auto result = Napi::Object::New(env);
  result.Set("endpoint", endpoint->handle);
  result.Set("address", bytesToJs(env, address));
  result.Set("remoteData", std::min(entry->domain_attr->cq_data_size, traits.remoteData));
  const size_t reserved = endpoint->takesSurplus ? 1 : 0;
  result.Set("receiveSegments",
             std::min(entry->rx_attr->iov_limit, Resolved::kMaxSegments) - reserved);
  result.Set("ownFlags", Napi::BigInt::New(env, traits.ownFlags));
  result.Set("handle", wrapHandle(env, endpoint));
  return result;
}

// endpointOpen(domain, info, { av, sendQueue, receiveQueue, counters, options, staging })
Napi::Value endpointOpen(const Napi::CallbackInfo& args) {
  return naming(*unwrap<Info>(args[1])->info, [&] {
    const Napi::Object opened = openEndpoint(args);
    shm_handshake::exchangeNames(*unwrap<Endpoint>(opened.Get("handle")));
    return opened;
  });
}

}  // namespace

void exportEndpointOpening(Napi::Object exports) {
  exportFunction<endpointOpen>(exports, "endpointOpen");
}

}  // namespace fab
