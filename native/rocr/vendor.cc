#include "vendor.h"

#include <fcntl.h>

#include <new>

namespace rocr {
namespace {

using accelerator::CallFailure;
using accelerator::LibraryMissing;

// Collects what the runtime iterates over.
template <typename Handle>
Status collect(Handle handle, void* into) {
  try {
    static_cast<std::vector<Handle>*>(into)->push_back(handle);
    return kSuccess;
  } catch (const std::bad_alloc&) {
    return kOutOfResources;
  }
}

template <typename Value, typename Handle>
Value ask(const Call<Handle, int, void*>& info, Handle handle, int attribute) {
  Value value{};
  info(handle, attribute, &value);
  return value;
}

std::string textFrom(const Runtime& runtime, Agent agent, int attribute) {
  char text[65] = "";
  runtime.agentInfo(agent, attribute, text);
  return text;
}

std::vector<Agent> gpus(const Runtime& runtime) {
  std::vector<Agent> agents;
  runtime.iterateAgents(collect<Agent>, &agents);
  std::vector<Agent> found;
  for (const Agent agent : agents) {
    if (ask<int>(runtime.agentInfo, agent, kAgentDevice) == kDeviceGpu) found.push_back(agent);
  }
  return found;
}

Agent agentAt(const Runtime& runtime, int device) {
  const std::vector<Agent> agents = gpus(runtime);
  if (static_cast<size_t>(device) < agents.size()) return agents[device];
  throw CallFailure(kInvalidAgent, "hsa_iterate_agents");
}

// The pool from which programs allocate: the first global one that permits it.
Pool poolOf(const Runtime& runtime, Agent agent) {
  std::vector<Pool> pools;
  runtime.iteratePools(agent, collect<Pool>, &pools);
  for (const Pool pool : pools) {
    const bool global = ask<int>(runtime.poolInfo, pool, kPoolSegment) == kSegmentGlobal;
    if (global && ask<bool>(runtime.poolInfo, pool, kPoolAllocAllowed)) return pool;
  }
  throw CallFailure(kInvalidAllocation, "hsa_amd_agent_iterate_memory_pools");
}

accelerator::Device describe(const Runtime& runtime, Agent agent, int index) {
  const std::string product = textFrom(runtime, agent, kAgentProductName);
  const auto bdf = ask<uint32_t>(runtime.agentInfo, agent, kAgentBdf);
  const auto domain = ask<uint32_t>(runtime.agentInfo, agent, kAgentDomain);
  return {index, product.empty() ? textFrom(runtime, agent, kAgentName) : product,
          accelerator::pciAddressOf(domain, bdf >> 8 & 0xff, bdf >> 3 & 0x1f, bdf & 0x7),
          ask<size_t>(runtime.poolInfo, poolOf(runtime, agent), kPoolSize)};
}

// The runtime's "NAME: text" of a status.
std::string describe(Status status) {
  const char* text = nullptr;
  const bool known = Runtime::loaded().statusString.attempt(status, &text) == kSuccess;
  return known && text != nullptr ? text : "";
}

}  // namespace

Allocation::Allocation(int device, size_t length) : length_(length) {
  const Runtime& runtime = Runtime::initialized();
  void* place = nullptr;
  runtime.poolAllocate(poolOf(runtime, agentAt(runtime, device)), length, 0, &place);
  place_ = static_cast<uint8_t*>(place);
}

Allocation::~Allocation() { accelerator::freeOrAbandon(*this); }

void Allocation::write(size_t offset, const uint8_t* bytes, size_t length) {
  Runtime::loaded().memoryCopy(place_ + offset, bytes, length);
}

void Allocation::read(size_t offset, uint8_t* bytes, size_t length) const {
  Runtime::loaded().memoryCopy(bytes, place_ + offset, length);
}

void Allocation::free() {
  if (freed()) return;
  Runtime::loaded().poolFree(place_);
  place_ = nullptr;
}

std::string Vendor::nameOf(Status status) {
  const std::string text = describe(status);
  const size_t end = text.find(':');
  return text.rfind("HSA_", 0) == 0 ? text.substr(0, end) : "";
}

std::string Vendor::textOf(Status status) {
  const std::string text = describe(status);
  const size_t end = text.find(": ");
  return end == std::string::npos ? "" : text.substr(end + 2);
}

std::vector<accelerator::Device> Vendor::listDevices() {
  const Runtime& runtime = Runtime::initialized();
  std::vector<accelerator::Device> all;
  for (const Agent agent : gpus(runtime)) {
    all.push_back(describe(runtime, agent, static_cast<int>(all.size())));
  }
  return all;
}

accelerator::Dmabuf Vendor::exportDmabuf(int device, uint64_t pointer, size_t length) {
  const Runtime& runtime = Runtime::initialized();
  agentAt(runtime, device);
  const char* name = "hsa_amd_portable_export_dmabuf";
  if (!runtime.exportDmabuf.exists() || !runtime.closeDmabuf.exists()) {
    throw LibraryMissing(name, std::string("it has no ") + name);
  }
  accelerator::Dmabuf exported{-1, 0};
  const auto* start = reinterpret_cast<const void*>(pointer);
  const Status status = runtime.exportDmabuf(start, length, &exported.fd, &exported.offset);
  if (status != kSuccess) throw CallFailure(status, name);
  // The runtime closes the descriptors of its own, and JavaScript closes this one.
  const int fd = ::fcntl(exported.fd, F_DUPFD_CLOEXEC, 0);
  runtime.closeDmabuf(exported.fd);
  if (fd < 0) throw CallFailure(kOutOfResources, "fcntl");
  return {fd, exported.offset};
}

}  // namespace rocr
