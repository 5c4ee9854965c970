#include "../../native/util/shared_table.h"

#include <atomic>
#include <thread>
#include <vector>

#include "../softefa/harness.h"

using Table = fab::SharedTable<uint64_t>;
using Handles = Table::Handles;

namespace {

uint32_t indexOf(uint32_t handle) { return handle & Table::kIndexMask; }

// Inserts and erases until a slot has used all its generations.
uint32_t useUp(Table& table, Handles handles) {
  const uint32_t first = table.insert(0, handles);
  uint32_t handle = first;
  for (uint32_t generation = 0; generation < Table::kMaxGeneration; ++generation) {
    table.erase(handle);
    handle = table.insert(0, handles);
    CHECK_EQ(indexOf(handle), indexOf(first));
  }
  table.erase(handle);
  return first;
}

}  // namespace

TEST(shared_table_finds_what_was_inserted_and_nothing_by_a_stale_handle) {
  Table table;
  const uint32_t stale = table.insert(1, Handles::kLasting);
  CHECK_EQ(*table.find(stale), uint64_t{1});
  table.erase(stale);
  const uint32_t next = table.insert(2, Handles::kLasting);
  CHECK_EQ(indexOf(next), indexOf(stale));
  CHECK(table.find(stale) == nullptr);
  CHECK_EQ(*table.find(next), uint64_t{2});
  CHECK(table.find(0) == nullptr);
  CHECK(table.find(UINT32_MAX) == nullptr);
}

TEST(shared_table_separates_slots_of_both_kinds) {
  Table table;
  const uint32_t lasting = table.insert(1, Handles::kLasting);
  table.erase(lasting);
  CHECK(indexOf(table.insert(2, Handles::kHeldLonger)) != indexOf(lasting));
  CHECK_EQ(indexOf(table.insert(3, Handles::kLasting)), indexOf(lasting));
}

TEST(shared_table_reuses_generations_of_lasting_handles) {
  Table table;
  const uint32_t first = useUp(table, Handles::kLasting);
  CHECK_EQ(table.worn(), size_t{0});
  CHECK_EQ(table.insert(7, Handles::kLasting), first);
}

TEST(shared_table_retires_worn_slots_until_no_handle_refers_to_them) {
  Table table;
  const uint32_t first = useUp(table, Handles::kHeldLonger);
  CHECK_EQ(table.worn(), size_t{1});
  table.renew([](uint32_t) { return true; });
  CHECK_EQ(table.worn(), size_t{1});
  CHECK(indexOf(table.insert(1, Handles::kHeldLonger)) != indexOf(first));
  table.renew([](uint32_t) { return false; });
  CHECK_EQ(table.worn(), size_t{0});
  CHECK_EQ(indexOf(table.insert(2, Handles::kHeldLonger)), indexOf(first));
}

TEST(shared_table_keeps_its_values_when_it_is_moved) {
  Table table;
  std::vector<uint32_t> handles;
  for (uint64_t i = 0; i < 3000; ++i) handles.push_back(table.insert(i, Handles::kLasting));
  Table moved(std::move(table));
  for (uint64_t i = 0; i < handles.size(); ++i) CHECK_EQ(*moved.find(handles[i]), i);
  uint64_t count = 0, sum = 0;
  moved.forEach([&](uint32_t, uint64_t value) {
    ++count;
    sum += value;
  });
  CHECK_EQ(count, uint64_t{3000});
  CHECK_EQ(sum, uint64_t{3000} * 2999 / 2);
}

TEST(shared_table_is_full_when_all_slots_are_taken) {
  Table table;
  uint32_t last = 0;
  for (uint32_t i = 0; i < Table::kIndexMask; ++i) last = table.insert(i, Handles::kLasting);
  CHECK(last != 0);
  CHECK(table.full(Handles::kLasting));
  CHECK_EQ(table.insert(1, Handles::kLasting), 0u);
  table.erase(last);
  CHECK(!table.full(Handles::kLasting));
  CHECK(table.full(Handles::kHeldLonger));
}

// One thread inserts, as the event loop does, and another finds and erases, as the engine does.
TEST(shared_table_is_filled_by_one_thread_while_another_empties_it) {
  constexpr uint32_t kCount = 100'000, kRoom = 256;
  Table table;
  std::vector<std::atomic<uint32_t>> ring(kRoom);
  std::thread inserts([&] {
    for (uint32_t i = 0; i < kCount; ++i) {
      while (ring[i % kRoom].load(std::memory_order_acquire) != 0) std::this_thread::yield();
      const uint32_t handle = table.insert(i, Handles::kLasting);
      CHECK(handle != 0);
      // Relaxed, because the table publishes the value.
      ring[i % kRoom].store(handle, std::memory_order_relaxed);
    }
  });
  for (uint32_t i = 0; i < kCount; ++i) {
    uint32_t handle;
    while ((handle = ring[i % kRoom].load(std::memory_order_relaxed)) == 0) {
      std::this_thread::yield();
    }
    uint64_t* const value = table.find(handle);
    CHECK(value != nullptr);
    CHECK_EQ(*value, uint64_t{i});
    table.erase(handle);
    ring[i % kRoom].store(0, std::memory_order_release);
  }
  inserts.join();
  CHECK(indexOf(table.insert(0, Handles::kLasting)) <= kRoom);
}
