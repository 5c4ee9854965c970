// Compiles batches: resolves their operations when they or the objects that they use change, so
// that posting only makes the libfabric calls.
#include <algorithm>
#include <array>

#include "batches.h"
#include "dispatch.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

namespace {

// The maximum length of a run of FI_MORE, so that a queue that fills up during a run does not hold
// back operations whose doorbell has not been rung.
constexpr size_t kMoreRun = 16;

bool needsMoreThanTheCall(const Operation& o, const Endpoint& endpoint) {
  constexpr uint64_t kSpecial = FI_MULTI_RECV | FI_PEEK | FI_CLAIM;
  if (isReceive(o.code) ? endpoint.memory.receives != nullptr : endpoint.memory.sends != nullptr)
    return true;
  if (endpoint.traits.countsSends() && !isReceive(o.code)) return true;
  if (isInject(o.code)) return isRma(o.code) && endpoint.traits.injectsAsWrites;
  return endpoint.traits.ownContexts || o.segments > 0 || o.remotes > 0 ||
         o.code == OpCode::kAtomic || (o.flags & kSpecial) != 0;
}

// Notes a used handle. Consecutive operations usually use the same one; a handle that recurs later
// is noted again.
void note(std::vector<uint32_t>& handles, uint32_t handle) {
  if (handle != 0 && (handles.empty() || handles.back() != handle)) handles.push_back(handle);
}

// Points the call's structure to the item's own fields. Items do not move after they are created.
void fillCall(PostItem& item, const Operation& o, const Resolved& resolved, size_t segments) {
  for (size_t i = 0; i < segments; ++i) {
    item.iov[i] = resolved.iov[i];
    item.desc[i] = resolved.desc[i];
  }
  item.target = resolved.targets[0];
  switch (o.code) {
    case OpCode::kSend:
    case OpCode::kRecv:
      item.message = {item.iov, item.desc, segments, resolved.address, nullptr, o.data};
      break;
    case OpCode::kTsend:
      item.tagged = {item.iov, item.desc, segments, resolved.address, o.tag, 0, nullptr, o.data};
      break;
    case OpCode::kTrecv:
      item.tagged = {item.iov, item.desc, segments, resolved.address, o.tag, o.ignore, nullptr, 0};
      break;
    case OpCode::kInject:
    case OpCode::kTinject:
    case OpCode::kInjectWrite:
      item.address = resolved.address;
      break;
    default:
      item.rma = {item.iov, item.desc, 1, resolved.address, &item.target, 1, nullptr, o.data};
  }
}

// Sets FI_MORE on all items except the last that will be posted.
void setMore(std::vector<PostItem>& items, uint64_t more) {
  bool another = false;
  for (size_t i = items.size(); i-- > 0;) {
    if (items[i].error != 0) continue;
    if (another && (i + 1) % kMoreRun != 0) items[i].flags |= more;
    another = true;
  }
}

// Receives come first, so that replies to the sends find them. If there is only one send, it comes
// first: its reply takes longer than the receives take to post. Datagrams need the receive.
std::array<Side, 2> orderOf(const Batch& batch, const Endpoint& endpoint) {
  if (batch.counts.send > 1 || !endpoint.traits.isReliable) return {Side::kReceive, Side::kSend};
  return {Side::kSend, Side::kReceive};
}

ssize_t call(fid_ep* ep, PostItem& item, void* context) {
  switch (item.operation->code) {
    case OpCode::kSend:
      item.message.context = context;
      return fi_sendmsg(ep, &item.message, item.flags);
    case OpCode::kRecv:
      item.message.context = context;
      return fi_recvmsg(ep, &item.message, item.flags);
    case OpCode::kTsend:
      item.tagged.context = context;
      item.tagged.tag = item.operation->tag;  // may change without a new version
      return fi_tsendmsg(ep, &item.tagged, item.flags);
    case OpCode::kTrecv:
      item.tagged.context = context;
      item.tagged.tag = item.operation->tag;
      return fi_trecvmsg(ep, &item.tagged, item.flags);
    case OpCode::kWrite:
      item.rma.context = context;
      return fi_writemsg(ep, &item.rma, item.flags);
    case OpCode::kRead:
      item.rma.context = context;
      return fi_readmsg(ep, &item.rma, item.flags);
    default:
      return dispatchInject(ep, *item.operation, item.iov[0], item.address, item.target);
  }
}

}  // namespace

// Determines the objects that a version of a batch uses, and the number of its operations.
void Batches::survey(Batch& batch, Endpoint& endpoint) {
  batch.items.send.clear();
  batch.items.receive.clear();
  batch.compiled = false;
  batch.memories.clear();
  batch.peers.clear();
  batch.counts = {};
  batch.sendBytes = 0;
  batch.receivesMessages = false;
  batch.rooms.clear();
  batch.forEach([&](const Operation& o) {
    const Side side = sideOf(o.code);
    ++batch.counts[side];
    forEachMemory(o, [&](uint32_t handle) { note(batch.memories, handle); });
    note(batch.peers, o.peer);
    batch.receivesMessages |= o.code == OpCode::kRecv;
    if (side == Side::kReceive) batch.noteRoom(o);
    if (side == Side::kSend && !needsMoreThanTheCall(o, endpoint)) batch.sendBytes += o.length;
  });
}

void Batches::compile(Batch& batch, Endpoint& endpoint) {
  batch.items.send.reserve(batch.counts.send);
  batch.items.receive.reserve(batch.counts.receive);
  batch.forEach([&](Operation& o) {
    const Side side = sideOf(o.code);
    PostItem& item = batch.items[side].emplace_back();
    item.operation = &o;
    item.general = needsMoreThanTheCall(o, endpoint);
    if (item.general) return;
    item.flags = o.flags | endpoint.defaultFlags(side);
    resolve(item, endpoint, Engine::kNow);
  });
  setMore(batch.items.send, endpoint.traits.more);
  setMore(batch.items.receive, endpoint.traits.more);
  batch.compiled = true;
}

void Batches::resolve(PostItem& item, Endpoint& endpoint, uint64_t accepted) {
  Resolved resolved;
  engine_.refusal = "";
  const bool known = *callOf(item.operation->code) != 0;
  item.error =
      known ? engine_.resolve(*item.operation, endpoint, resolved, false, accepted) : -FI_EINVAL;
  item.refusal = engine_.refusal;
  if (item.error != 0) return;
  const size_t segments = engine_.receives.addSurplus(*item.operation, endpoint, resolved);
  fillCall(item, *item.operation, resolved, segments);
}

void Batches::submit(const Operation& operation) {
  Endpoint** found = engine_.endpoints.find(operation.endpoint);
  std::unique_ptr<Batch>* known = table.find(operation.memory);
  const auto entries = static_cast<uint32_t>(wholeOf(operation.length, UINT32_MAX));
  const uint64_t version = wholeOf(operation.offset);
  if (found == nullptr || (*found)->closing) {
    return engine_.refuse(operation, nullptr, engine_.closings.whyClosed(operation.endpoint));
  }
  if (known == nullptr || (*known)->destroyed || entries > (*known)->capacity()) {
    return engine_.refuse(operation, nullptr, FI_ECANCELED, "", "the batch is closed");
  }
  Endpoint& endpoint = **found;
  Batch& batch = **known;
  if (batch.runs > 0 && (batch.version != version || batch.endpoint != operation.endpoint)) {
    return engine_.refuse(operation, nullptr, FI_EBUSY, "submit", "the batch is in flight");
  }
  batch.handle = operation.memory;
  const bool compiled = prepare(batch, endpoint, entries, version);

  BatchRun& run = take();
  run.batch = &batch;
  run.request = operation.request;
  if (run.request == kRunRequest) awaited_ = &run;
  run.endpoint = operation.endpoint;
  run.events = std::move(batch.events);
  run.samples = batch.samples;
  const SharedBlock* const samples = run.samples.get();
  run.rounds.begin(operation, samples ? reinterpret_cast<double*>(samples->data()) : nullptr,
                   samples ? samples->size() / sizeof(double) : 0);
  hold(run, endpoint);
  postRound(run, endpoint, compiled);
}

// Surveys the operations if they have changed. Returns whether they are compiled: compiling pays
// only from the second submission on, so the first one posts the operations without it.
bool Batches::prepare(Batch& batch, Endpoint& endpoint, uint32_t entries, uint64_t version) {
  const bool changed = batch.version != version || batch.endpoint != endpoint.handle;
  if (changed || batch.epoch != engine_.epoch()) {
    if (changed) batch.read(entries);
    batch.version = version;
    batch.endpoint = endpoint.handle;
    batch.epoch = engine_.epoch();
    survey(batch, endpoint);
    return false;
  }
  if (!batch.compiled) compile(batch, endpoint);
  return true;
}

void Batches::postRound(BatchRun& run, Endpoint& endpoint, bool compiled) {
  Batch& batch = *run.batch;
  if (run.events && !mark(run)) return endRound(run);
  run.accepted = engine_.epoch();
  run.cursor = {};
  run.remaining = 1;  // the posting itself
  for (const Side side : orderOf(batch, endpoint)) {
    const uint32_t count = batch.counts[side];
    if (count == 0) continue;
    run.remaining += count;
    const bool behind = side == Side::kReceive && batch.receivesMessages && endpoint.hasBuffer();
    if (!behind && endpoint.waiting(side).empty() &&
        (compiled ? advance(run, endpoint, side) : advanceOnce(run, endpoint, side))) {
      continue;
    }
    if (!batch.compiled) compile(batch, endpoint);
    Operation waiting{};
    waiting.code = OpCode::kSubmit;
    waiting.request = run.request;
    waiting.endpoint = run.endpoint;
    waiting.memory = batch.handle;
    waiting.flags = reinterpret_cast<uint64_t>(&run);
    ++run.remaining;
    if (behind) {
      engine_.wait(endpoint.behindBuffer, waiting);
    } else {
      engine_.block(endpoint, waiting, side);
    }
  }
  succeeded(run, 0);
}

// Called when the provider has accepted a simple operation of a run. Injects have no completion, so
// they end here.
void Batches::posted(BatchRun& run, const Operation& operation) {
  ++engine_.control().stats.operations;
  if (isInject(operation.code))
    --run.remaining;  // never reaches 0: the posting itself is still counted
}

// Posts one side of a batch that is not compiled. Returns false if operations remain.
bool Batches::advanceOnce(BatchRun& run, Endpoint& endpoint, Side side) {
  const uint32_t count = run.batch->counts[side];
  size_t& cursor = run.cursor[side];
  const uint64_t defaults = endpoint.defaultFlags(side);
  bool full = false;
  run.batch->forEach([&](Operation& o) {
    if (full || cursor == Engine::kPostsPerTurn || sideOf(o.code) != side) return;
    run.batch->readTag(o);
    const bool last = cursor + 1 == count || (cursor + 1) % kMoreRun == 0;
    const uint64_t more = last ? 0 : endpoint.traits.more;
    engine_.refusal = "";
    ssize_t ret;
    if (needsMoreThanTheCall(o, endpoint) || (side == Side::kReceive && !endpoint.held.empty())) {
      ret = engine_.post(o, endpoint, &run, 0);
    } else {
      Resolved resolved;
      ret = engine_.resolve(o, endpoint, resolved);
      if (ret == 0 && isInject(o.code)) {
        ret = dispatchInject(endpoint.get(), o, resolved.iov[0], resolved.address,
                             resolved.targets[0]);
      } else if (ret == 0) {
        ret = dispatch(endpoint.get(), o, resolved,
                       engine_.receives.addSurplus(o, endpoint, resolved), run.contextOf(o.request),
                       o.flags | more | defaults);
      }
      if (ret == 0) posted(run, o);
    }
    full = isFull(ret, o.code, cursor > 0 || endpoint.inFlight > 1);
    if (full) return;
    if (ret < 0)
      engine_.refuse(o, &run, static_cast<uint32_t>(-ret), callOf(o.code), engine_.refusal);
    run.batch->stepTag(o);
    ++cursor;
  });
  if (full) ++engine_.control().stats.backPressure;
  return cursor == count;
}

bool Batches::advance(BatchRun& run, Endpoint& endpoint, Side side) {
  std::vector<PostItem>& items = run.batch->items[side];
  size_t& cursor = run.cursor[side];
  const size_t first = cursor;
  const size_t end = std::min(items.size(), (first + Engine::kPostsPerTurn) / kMoreRun * kMoreRun);
  ssize_t ret = 0;
  for (; cursor < end; ++cursor) {
    PostItem& item = items[cursor];
    Operation& operation = *item.operation;
    run.batch->readTag(operation);
    if (item.general || (side == Side::kReceive && !endpoint.held.empty())) {
      ret = engine_.post(operation, endpoint, &run, item.flags);
    } else {
      // Its peer may have started by now.
      if (item.error == -FI_EAGAIN) resolve(item, endpoint, run.accepted);
      engine_.refusal = item.refusal;
      ret = item.error != 0
                ? item.error
                : asFabricError(call(endpoint.get(), item, run.contextOf(operation.request)));
      if (ret == 0) posted(run, operation);
    }
    if (ret != 0) {
      if (isFull(ret, operation.code, cursor > 0 || endpoint.inFlight > 1)) break;
      engine_.refuse(operation, &run, static_cast<uint32_t>(-ret), callOf(operation.code),
                     engine_.refusal);
    }
    run.batch->stepTag(operation);
  }
  if (cursor < end) ++engine_.control().stats.backPressure;
  return cursor == items.size();
}

}  // namespace fab
