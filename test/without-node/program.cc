#include "program.h"

#include <algorithm>
#include <cstring>

#include "../../native/engine/manual.h"
#include "../../native/engine/poll_thread.h"
#include "../../native/objects/endpoint_opening.h"
#include "../../native/objects/registration.h"
#include "../../native/objects/shared_query.h"
#include "../../native/providers/info.h"
#include "../../native/providers/local_peers.h"
#include "../../native/providers/provider_traits.h"
#include "../../native/providers/shared_regions.h"

using fab::Completion;
using fab::Control;
using fab::Hold;
using fab::OpCode;
using fab::Operation;

namespace without_node {

namespace {

std::shared_ptr<fi_info> find(const std::string& provider) {
  fab::InfoPtr hints(fi_allocinfo());
  hints->fabric_attr->prov_name = strdup(provider.c_str());
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = fab::kHandledModes & ~FI_MSG_PREFIX;
  hints->domain_attr->mr_mode = fab::kHandledMrModes;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->ep_attr->type = FI_EP_RDM;
  fi_info* list = nullptr;
  const char* const node = provider == "tcp" ? "127.0.0.1" : nullptr;
  const uint64_t flags = node == nullptr ? 0 : FI_SOURCE;
  const int ret = fab::queryBesideEngines(
      [&] { return fi_getinfo(fi_version(), node, nullptr, flags, hints.get(), &list); });
  if (ret != 0) fail(__FILE__, __LINE__, fi_strerror(-ret));
  return {list, fab::InfoDeleter()};
}

}  // namespace

Program::Program(Environment& where, const std::string& provider, Kind how,
                 std::shared_ptr<fab::PollThread> thread)
    : environment(where),
      kind(how),
      sharesMemory(provider == "shm"),
      waits(provider == "tcp"),
      info(find(provider)) {
  fab::Fid<fid_fabric> fabricFid;
  CLAIM(fi_fabric(info->fabric_attr, fabricFid.out(), nullptr) == 0);
  fabric = std::make_shared<fab::Fabric>(std::move(fabricFid));
  fab::Fid<fid_domain> fid;
  CLAIM(fi_domain(fabric->get(), info.get(), fid.out(), nullptr) == 0);
  domain = std::make_shared<fab::Domain>(fabric, std::move(fid), info,
                                         std::make_unique<fab::Engine>(kEntries, kEntries));
  domain->registerPlaceholder();
  const auto driver = makeDriver(std::move(thread));
  domain->dependsOn(fabric);
  domain->start(environment.env(), environment.domains, driver);
}

Program::~Program() {
  if (domain) end();
  // The domain holds itself until its handles have closed.
  environment.runUntil("the domain does not end", [&] { return ended_.expired(); });
  CLAIM(fabric->close() == 0);
}

void Program::end() {
  ended_ = domain;
  CLAIM(domain->end() == 0);
  CLAIM(domain->stuck() == 0);
  CLAIM(domain->refusal() == 0);
  read();
  domain.reset();
}

std::shared_ptr<fab::Driver> Program::makeDriver(std::shared_ptr<fab::PollThread> thread) {
  if (kind == Kind::kManual) return fab::makeManualDriver();
  fab::DriverOptions options;
  options.spin = std::chrono::microseconds(50);  // sleeps often
  options.idle = std::chrono::microseconds(200);
  if (kind == Kind::kBusyPoll) options.busyPoll = std::chrono::microseconds(100);
  const auto queues = [this] { return domain->engine().queues(); };
  options.canSleep = [this, queues] {
    std::vector<fid*> fids;
    for (const auto* queue : queues()) {
      if (!queue->waitable()) return false;
      fids.push_back(&queue->get()->fid);
    }
    return fids.empty() ||
           fi_trywait(fabric->get(), fids.data(), static_cast<int>(fids.size())) == 0;
  };
  options.waitFds = [queues] {
    std::vector<int> fds;
    for (const auto* queue : queues()) {
      int fd = -1;
      if (fi_control(&queue->get()->fid, FI_GETWAIT, &fd) == 0) fds.push_back(fd);
    }
    return fds;
  };
  const fab::Drain drain(environment.env(), environment.function([this] { read(); }));
  return kind == Kind::kLoop
             ? fab::makeLoopDriver(domain->engine(), std::move(options), environment.loop(), drain)
             : fab::makeThreadDriver(domain->engine(), std::move(options), environment.loop(),
                                     drain, std::move(thread));
}

Program::End Program::openEndpoint() {
  const Hold hold(engine());
  fi_cq_attr cqAttr{};
  cqAttr.format = FI_CQ_FORMAT_TAGGED;
  cqAttr.wait_obj = waits ? FI_WAIT_FD : FI_WAIT_NONE;
  fab::Fid<fid_cq> cqFid;
  CLAIM(fi_cq_open(domain->get(), &cqAttr, cqFid.out(), nullptr) == 0);
  const auto queue =
      std::make_shared<fab::CompletionQueue>(engine(), std::move(cqFid), cqAttr, waits);
  queue->dependsOn(domain);
  engine().addQueue(*queue);
  fi_av_attr avAttr{};
  avAttr.type = FI_AV_TABLE;
  fab::Fid<fid_av> avFid;
  CLAIM(fi_av_open(domain->get(), &avAttr, avFid.out(), nullptr) == 0);
  const auto av =
      std::make_shared<fab::AddressVector>(domain, domain->engine(), *info, std::move(avFid));
  av->dependsOn(domain);
  const auto [endpoint, address] =
      fab::openEndpoint({domain, info, av, queue, queue, {}, {}, false});
  return {endpoint, address};
}

uint32_t Program::insert(const End& from, const std::vector<uint8_t>& address) {
  fab::AddressVector& av = *from.endpoint->av;
  const Hold hold(engine());
  bool foreign = false;
  if (sharesMemory) {
    const std::string name = fab::local_peers::nameOf(*info, address.data());
    foreign = !fab::local_peers::isOwn(name);
    CLAIM(fab::local_peers::addPeer(name, *domain));
  }
  fi_addr_t number = FI_ADDR_NOTAVAIL;
  CLAIM(fi_av_insert(av.get(), address.data(), 1, &number, 0, nullptr) == 1);
  fab::Peer peer;
  peer.address = number;
  peer.av = &av;
  peer.unmapped = foreign;
  const uint32_t handle = engine().peers.insert(peer);
  av.remember(number, handle, "");
  return handle;
}

uint32_t Program::adopt(const Bytes& bytes) {
  fab::Memory memory;
  memory.backing = bytes.data;
  memory.base = bytes.data.get();
  memory.length = bytes.length;
  return engine().enter(engine().memories, std::move(memory),
                        fab::Engine::Memories::Handles::kLasting);
}

void Program::forget(uint32_t memory) {
  engine().deferSlow(
      [&at = engine(), memory] { at.closings.closeMemory(memory, fab::kNoRequest); });
}

std::shared_ptr<fab::MemoryRegion> Program::registerMemory(const Bytes& bytes, uint64_t access) {
  return registerIn(domain, bytes, access);
}

std::shared_ptr<fab::MemoryRegion> Program::registerIn(const std::shared_ptr<fab::Domain>& domain,
                                                       const Bytes& bytes, uint64_t access) {
  fab::Engine& engine = domain->engine();
  const Hold hold(engine);
  if (domain->closed()) return nullptr;
  auto region = fab::openRegion(domain, bytes.data.get(), bytes.length, access, bytes.data);
  fab::Memory memory;
  memory.backing = bytes.data;
  memory.base = region->base;
  memory.length = region->length;
  memory.desc = fi_mr_desc(region->get());
  memory.region = region;
  region->handle =
      engine.memories.insert(std::move(memory), fab::Engine::Memories::Handles::kHeldLonger);
  return region;
}

uint32_t Program::addRemote(const fab::MemoryRegion& region) {
  const bool byAddress = (domain->mrMode() & FI_MR_VIRT_ADDR) != 0;
  const fab::Remote remote{byAddress ? reinterpret_cast<uint64_t>(region.base) : 0, region.length,
                           fi_mr_key(region.get())};
  return engine().enter(engine().remotes, remote, fab::Engine::Remotes::Handles::kLasting);
}

uint32_t Program::submit(Operation operation, Done done) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(requests_.size()));
    requests_.emplace_back();
  }
  const uint32_t request = free_.back();
  free_.pop_back();
  requests_[request] = std::move(done);
  engine().control().pending = ++pending_;
  if (pending_ == 1) domain->driver().ref();
  operation.request = request;
  write(operation);
  return request;
}

void Program::submitQuietly(Operation operation) {
  operation.request = fab::kNoRequest;
  write(operation);
}

void Program::write(const Operation& operation) {
  Control& control = engine().control();
  while (tail_ + 1 - control.submissionHead.load() > kEntries) {
    if (kind == Kind::kThread || kind == Kind::kBusyPoll) {
      domain->driver().makeRoom();
    } else {
      fab::turnOnce(engine());
    }
  }
  auto* const ring = reinterpret_cast<Operation*>(engine().submissionBlock()->data());
  ring[tail_++ % kEntries] = operation;
  control.submissionTail.store(tail_);
  if (control.sleeping.load() != 0) domain->driver().wake();
}

void Program::cancel(uint32_t request) {
  Operation operation{};
  operation.code = OpCode::kCancel;
  operation.memory = request;
  submitQuietly(operation);
}

void Program::read() {
  if (reading_) return;
  reading_ = true;
  Control& control = engine().control();
  if (control.notified.load() != fab::kPolls) control.notified.store(fab::kNotNotified);
  const auto* const ring = reinterpret_cast<Completion*>(engine().completionBlock()->data());
  while (head_ != control.completionTail.load()) {
    const Completion completion = ring[head_++ % kEntries];
    control.completionHead.store(head_);
    if (completion.error != 0) lastError = engine().reports.errors.take(completion.error).text;
    if (completion.event != fab::Event::kOperation) continue;
    const Done done = std::move(requests_[completion.request]);
    free_.push_back(completion.request);
    control.pending = --pending_;
    if (pending_ == 0) domain->driver().ref();
    done(completion);
  }
  reading_ = false;
}

void Program::step() {
  if (kind == Kind::kManual) fab::turnOnce(engine());
  read();
}

void Program::runUntil(const char* what, const std::function<bool()>& condition) {
  environment.runUntil(what, [&] {
    if (kind == Kind::kManual) step();
    return condition();
  });
}

void Program::close(const End& end) {
  bool closed = false;
  Operation operation{};
  operation.code = OpCode::kCloseEndpoint;
  operation.endpoint = end.endpoint->handle;
  operation.length = 1000;
  submit(operation, [&](const Completion&) { closed = true; });
  runUntil("an endpoint does not close", [&] { return closed; });
}

}  // namespace without_node
