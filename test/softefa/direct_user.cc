#include "direct_user.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>

extern "C" int testQueryCq(ibv_cq*, void*, uint32_t) asm("efadv_query_cq");
extern "C" int testQueryWqs(ibv_qp*, void*, void*, uint32_t) asm("efadv_query_qp_wqs");

namespace verbs {
namespace {

template <class T>
void store(std::vector<uint8_t>& to, size_t offset, T value) {
  std::memcpy(to.data() + offset, &value, sizeof(value));
}

template <class T>
T load(const uint8_t* from, size_t offset) {
  T value;
  std::memcpy(&value, from + offset, sizeof(value));
  return value;
}

void storeSegment(std::vector<uint8_t>& to, size_t offset, uint64_t address, uint32_t length,
                  uint32_t key) {
  store(to, offset, length);
  store(to, offset + 4, key);
  store(to, offset + 8, address);
}

uint32_t total(const std::vector<ibv_sge>& sges) {
  uint32_t sum = 0;
  for (const ibv_sge& sge : sges) sum += sge.length;
  return sum;
}

}  // namespace

int queryCq(const Endpoint& endpoint, CqMemory& memory, uint32_t size) {
  return testQueryCq(ibv_cq_ex_to_cq(endpoint.cq()), &memory, size);
}

int queryWqs(const Endpoint& endpoint, WqMemory& sends, WqMemory& receives, uint32_t size) {
  return testQueryWqs(endpoint.qp(), &sends, &receives, size);
}

DirectUser::DirectUser(Endpoint& endpoint) : endpoint_(endpoint) {
  CqMemory cq;
  CHECK_EQ(queryCq(endpoint, cq), 0);
  completions_ = {cq.buffer, cq.entrySize, cq.entries, cq.doorbell, 0, 0};
  WqMemory sends, receives;
  CHECK_EQ(queryWqs(endpoint, sends, receives), 0);
  sends_ = {sends.buffer, sends.entrySize, sends.entries, sends.doorbell, sends.maxBatch, 0};
  receives_ = {receives.buffer,   receives.entrySize, receives.entries,
               receives.doorbell, receives.maxBatch,  0};
}

std::vector<uint8_t> DirectUser::describe(const Address& to, const Send& send) {
  std::vector<uint8_t> wqe(sends_.entrySize);
  const bool inlined = !send.inlined.empty();
  const unsigned phase = sends_.posted / sends_.entries & 1;
  const unsigned count = static_cast<unsigned>(inlined ? send.inlined.size() : send.sges.size());
  efadv_ah_attr handle{};
  CHECK_EQ(efadv_query_ah(endpoint_.handle(to.gid), &handle, sizeof(handle)), 0);
  store<uint16_t>(wqe, 0, static_cast<uint16_t>(send.id));
  store<uint32_t>(wqe, 26, static_cast<uint32_t>(send.id >> 16));
  store<uint16_t>(wqe, 30, static_cast<uint16_t>(send.id >> 48));
  wqe[2] = static_cast<uint8_t>(send.operation | (send.immediate != nullptr) << 4 | inlined << 5 |
                                1 << 7);
  wqe[3] = static_cast<uint8_t>(phase | 1 << 2 | 1 << 3 | send.signaled << 4);
  store<uint16_t>(wqe, 4, static_cast<uint16_t>(to.qpn));
  store<uint16_t>(wqe, 6, static_cast<uint16_t>(send.count >= 0 ? send.count : count));
  if (send.immediate != nullptr) store<uint32_t>(wqe, 8, *send.immediate);
  store<uint16_t>(wqe, 12,
                  static_cast<uint16_t>(send.addressHandle >= 0 ? send.addressHandle : handle.ahn));
  store<uint32_t>(wqe, 16, to.qkey);
  if (inlined) std::copy(send.inlined.begin(), send.inlined.end(), wqe.begin() + 32);
  size_t at = 32;
  if (send.operation != Send::kSend) {
    const uint32_t length =
        send.remoteLength >= 0 ? static_cast<uint32_t>(send.remoteLength) : total(send.sges);
    storeSegment(wqe, at, send.remote.address, length, send.remote.rkey);
    at += 16;
  }
  for (const ibv_sge& sge : send.sges) {
    if (at == wqe.size()) break;
    storeSegment(wqe, at, sge.addr, sge.length, sge.lkey);
    at += 16;
  }
  return wqe;
}

void DirectUser::put(const std::vector<uint8_t>& descriptor) {
  const size_t index = sends_.posted++ & (sends_.entries - 1);
  std::copy(descriptor.begin(), descriptor.end(), sends_.buffer + index * sends_.entrySize);
}

void DirectUser::receive(uint16_t id, const std::vector<ibv_sge>& sges) {
  for (size_t i = 0; i < sges.size(); ++i) {
    std::vector<uint8_t> descriptor(16);
    store<uint64_t>(descriptor, 0, sges[i].addr);
    store<uint16_t>(descriptor, 8, id);
    store<uint16_t>(descriptor, 10, static_cast<uint16_t>(sges[i].length));
    const uint32_t first = i == 0, last = i + 1 == sges.size();
    store<uint32_t>(descriptor, 12, sges[i].lkey | first << 30 | last << 31);
    const size_t index = receives_.posted++ & (receives_.entries - 1);
    std::copy(descriptor.begin(), descriptor.end(), receives_.buffer + index * 16);
  }
}

const uint8_t* DirectUser::entryAt(uint32_t index) const {
  return completions_.buffer + size_t{index & (completions_.entries - 1)} * completions_.entrySize;
}

// The first pass through the ring has phase 1.
bool DirectUser::written(uint32_t index) const {
  const uint8_t flags = __atomic_load_n(entryAt(index) + 3, __ATOMIC_ACQUIRE);
  return (flags & 1) != (index / completions_.entries & 1);
}

bool DirectUser::poll(Entry& entry) {
  if (!written(position_)) return false;
  const uint8_t* at = entryAt(position_);
  const uint8_t flags = at[3];
  ++position_;
  ++consumed_;
  entry = {load<uint16_t>(at, 0),  static_cast<Status>(at[2]), flags >> 1 & 3,
           flags >> 4 & 7,         (flags >> 3 & 1) != 0,      flags >> 7 != 0,
           load<uint16_t>(at, 4),  load<uint16_t>(at, 6),      load<uint16_t>(at, 8),
           load<uint16_t>(at, 10), load<uint32_t>(at, 12),     load<ibv_gid>(at, 16)};
  if (entry.queue == 1) {
    entry.id |= uint64_t{load<uint32_t>(at, 6)} << 16 | uint64_t{load<uint16_t>(at, 10)} << 48;
  }
  if (entry.queue == 2 && entry.operation == Send::kWrite) {
    entry.length |= uint32_t{load<uint16_t>(at, 16)} << 16;
  }
  if (telling_) tell();
  return true;
}

void DirectUser::await(uint32_t index) const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!written(index)) {
    if (std::chrono::steady_clock::now() > end) {
      harness::fail(__FILE__, __LINE__, "no completion arrived");
    }
    ::sched_yield();
  }
}

DirectUser::Entry DirectUser::next() {
  await(position_);
  Entry entry;
  CHECK(poll(entry));
  return entry;
}

void DirectUser::passOver(uint32_t count) {
  await(position_ + count - 1);
  position_ += count;
}

void DirectUser::tell(bool arm) {
  completions_.doorbell->store((consumed_ & 0xffff) | uint32_t{arm} << 31,
                               std::memory_order_release);
}

void DirectUser::restart() { sends_.posted = receives_.posted = 0; }

}  // namespace verbs
