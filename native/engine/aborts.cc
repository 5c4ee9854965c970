// Ends posted sends and RMA that the caller has aborted. Libfabric cannot cancel them, but efa
// (2.7) ends them if the registration of their memory closes: fi_efa(7), MR ABORTING.
#include <rdma/fi_domain.h>

#include <algorithm>

#include "endpoint.h"
#include "engine.h"
#include "memory_region.h"

namespace fab {

// Whether the provider ends operations of this endpoint to this peer with their memory. Through
// shared memory it does not: shm would use the closed registration.
bool Engine::endsWithMemory(const Endpoint& endpoint, uint32_t handle) {
  const Peer* peer = peers.find(handle);
  return endpoint.traits.endsWithMemory && peer != nullptr && !peer->sharesMemory;
}

// The uses of memory by a posted operation or a run are counted in Memory::aborted from now on.
void Engine::abort(Op& op) {
  if (isReceive(op.code) || op.recalled || !endsWithMemory(*op.endpoint, op.peer)) return;
  countAborted(op);
  op.forEachMemory([&](uint32_t memory) { endAborted(memory); });
}

void Engine::abort(BatchRun& run) {
  Endpoint** endpoint = endpoints.find(run.endpoint);
  const bool receives = run.batch->counts.receive > 0;
  if (endpoint == nullptr || receives || run.aborted) return;
  const auto ends = [&](uint32_t peer) { return endsWithMemory(**endpoint, peer); };
  if (!std::all_of(run.peers.begin(), run.peers.end(), ends)) return;
  run.aborted = true;
  for (const uint32_t handle : run.memories) countAborted(handle);
  ops.forEachLive([&](Op& op) {
    if (op.run == &run) countAborted(op);
  });
  for (const uint32_t memory : run.memories) endAborted(memory);
}

void Engine::countAborted(Op& op) {
  op.recalled = true;
  op.forEachMemory([&](uint32_t memory) { countAborted(memory); });
}

void Engine::countAborted(uint32_t handle) {
  if (Memory* memory = memories.find(handle)) ++memory->aborted;
}

// Closes the registration of memory that only aborted operations use. A region is closed only if
// the program has closed it, because the program may use it again.
void Engine::endAborted(uint32_t handle) {
  Memory* memory = memories.find(handle);
  if (memory == nullptr || closings.frozen()) return;
  if (memory->aborted == 0 || memory->aborted != memory->inFlight) return;
  if (const std::shared_ptr<MemoryRegion> region = memory->region; region) {
    if (memory->closing && !region->closed()) closings.closeMemory(handle, memory->closeRequest);
    return;
  }
  if (!memory->local || memory->local.close() != 0) return;
  memory->desc = nullptr;
  invalidate();
}

}  // namespace fab
