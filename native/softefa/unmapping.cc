// What happens to registrations when their process unmaps or moves their memory. Hardware has
// pinned the pages: it accesses them, and not what the process maps at their address afterwards.

#include <sys/mman.h>

#include <algorithm>

#include "memory_table.h"

namespace softefa {
namespace {

std::atomic<MemoryTable*> current{nullptr};

// Whether this thread unmaps memory of the device. It may be in the middle of an operation, for
// whose end a thread that moves pages waits.
__attribute__((tls_model("initial-exec"))) thread_local bool unmapsOwn = false;

uint64_t endOf(const MrEntry& entry) { return entry.address + entry.length; }
bool overlaps(const MrEntry& entry, uint64_t from, uint64_t to) {
  return entry.address < to && endOf(entry) > from;
}
// Pages are unmapped as a whole.
bool isWithin(const MrEntry& entry, uint64_t from, uint64_t to) {
  return entry.address >= from && endOf(entry) <= to;
}

}  // namespace

void unmapOwn(void* data, size_t size) {
  unmapsOwn = true;
  ::munmap(data, size);
  unmapsOwn = false;
}

void MemoryTable::watchUnmapping() { current = this; }

MemoryTable* MemoryTable::affected(uint64_t from, uint64_t to) {
  MemoryTable* table = current.load(std::memory_order_acquire);
  if (table == nullptr || unmapsOwn || !table->watched_.mayOverlap(from, to)) return nullptr;
  if (table->depth_ != forkDepth()) return nullptr;  // they are its parent's registrations
  const std::lock_guard<std::mutex> lock(table->placing_);
  for (uint32_t slot = 0; slot < table->used_; ++slot) {
    if (table->holding(slot).watched != 0 && overlaps(table->own(slot), from, to)) return table;
  }
  return nullptr;
}

void MemoryTable::unmaps(uint64_t from, uint64_t to) {
  if (MemoryTable* table = affected(from, to)) {
    const Moving moving(*table);
    table->keep(from, to);
  }
}

void MemoryTable::keep(uint64_t from, uint64_t to) {
  uint64_t first = UINT64_MAX, end = 0;
  for (uint32_t slot = 0; slot < used_; ++slot) {
    const MrEntry& entry = own(slot);
    if (holding(slot).watched == 0 || !isWithin(entry, from, to)) continue;
    first = std::min(first, entry.address & ~(kPage - 1));
    end = std::max(end, (endOf(entry) + kPage - 1) & ~(kPage - 1));
  }
  KeptPages* kept = end == 0 ? nullptr : KeptPages::move(first, end);
  for (uint32_t slot = 0; slot < used_; ++slot) {
    MrEntry& entry = own(slot);
    if (holding(slot).watched == 0 || !overlaps(entry, from, to)) continue;
    if (kept == nullptr || !isWithin(entry, from, to)) {
      lose(slot, std::max(from, entry.address) - entry.address,
           std::min(to, endOf(entry)) - entry.address);
      continue;
    }
    unwatch(slot);
    holding(slot).kept = kept;
    kept->retain();
    moveTo(slot, kept->at(entry.address));
  }
}

void MemoryTable::follow(uint64_t from, uint64_t to, uint64_t target) {
  for (uint32_t slot = 0; slot < used_; ++slot) {
    const MrEntry& entry = own(slot);
    if (holding(slot).watched == 0 || !overlaps(entry, from, to)) continue;
    if (!isWithin(entry, from, to)) {
      lose(slot, std::max(from, entry.address) - entry.address,
           std::min(to, endOf(entry)) - entry.address);
      continue;
    }
    unwatch(slot);
    moveTo(slot, entry.address - from + target);
    watch(slot);
  }
}

// The offsets are those of the registration's bytes.
void MemoryTable::lose(uint32_t slot, uint64_t from, uint64_t to) {
  for (MrEntry* entry : {&own(slot), &segment_.memory()[slot]}) {
    const bool first = entry->lostTo == 0;
    entry->lostFrom = first ? from : std::min(entry->lostFrom, from);
    entry->lostTo = std::max(entry->lostTo, to);
  }
}

void MemoryTable::moveTo(uint32_t slot, uint64_t address) {
  own(slot).address = segment_.memory()[slot].address = address;
}

void MemoryTable::watch(uint32_t slot) {
  watched_.add(own(slot).address, endOf(own(slot)));
  holding(slot).watched = 1;
}

void MemoryTable::unwatch(uint32_t slot) {
  if (std::exchange(holding(slot).watched, 0) == 0) return;
  watched_.remove(own(slot).address, endOf(own(slot)));
}

MemoryTable::Moving::Moving(MemoryTable& table) : table_(table) {
  table.placing_.lock();
  table.segment_.header().moving.store(1, std::memory_order_seq_cst);
  table.segment_.awaitVisitors();
}

MemoryTable::Moving::~Moving() {
  table_.segment_.header().moving.store(0, std::memory_order_release);
  table_.placing_.unlock();
}

}  // namespace softefa
