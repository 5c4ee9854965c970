#include "../../native/util/slot_table.h"

#include <map>
#include <memory>
#include <set>

#include "../softefa/harness.h"

using Table = fab::SlotTable<int>;

namespace {

uint32_t indexOf(uint32_t handle) { return handle & Table::kIndexMask; }

// Erases and inserts until the slot of a handle is worn.
void wear(Table& table, uint32_t handle) {
  const uint32_t index = indexOf(handle);
  for (uint32_t generation = 0; generation < Table::kMaxGeneration; ++generation) {
    table.erase(handle);
    handle = table.insert(0);
    CHECK_EQ(indexOf(handle), index);
  }
  table.erase(handle);
}

}  // namespace

TEST(slot_table_finds_what_was_inserted) {
  Table table;
  const uint32_t first = table.insert(10), second = table.insert(20);
  CHECK(first != 0 && second != 0 && first != second);
  CHECK_EQ(*table.find(first), 10);
  CHECK_EQ(*table.find(second), 20);
  CHECK(table.find(0) == nullptr);
  CHECK(table.find(second + 1) == nullptr);
  CHECK(table.find(UINT32_MAX) == nullptr);
}

TEST(slot_table_does_not_find_a_later_value_by_a_stale_handle) {
  Table table;
  const uint32_t stale = table.insert(1);
  table.erase(stale);
  CHECK(table.find(stale) == nullptr);
  const uint32_t next = table.insert(2);
  CHECK_EQ(indexOf(next), indexOf(stale));
  CHECK(next != stale);
  CHECK(table.find(stale) == nullptr);
  table.erase(stale);
  CHECK_EQ(*table.find(next), 2);
}

TEST(slot_table_frees_a_value_when_it_is_erased) {
  fab::SlotTable<std::shared_ptr<int>> table;
  const auto value = std::make_shared<int>(1);
  const uint32_t erased = table.insert(value), retired = table.insert(value);
  CHECK_EQ(value.use_count(), 3);
  table.erase(erased);
  table.retire(retired);
  CHECK_EQ(value.use_count(), 1);
}

TEST(slot_table_does_not_reuse_a_retired_slot) {
  Table table;
  const uint32_t retired = table.insert(1);
  table.retire(retired);
  CHECK(table.find(retired) == nullptr);
  for (int i = 0; i < 100; ++i) CHECK(indexOf(table.insert(i)) != indexOf(retired));
  CHECK_EQ(table.worn(), size_t{0});
}

TEST(slot_table_retires_a_slot_whose_generations_are_used_up) {
  Table table;
  const uint32_t first = table.insert(0);
  wear(table, first);
  CHECK_EQ(table.worn(), size_t{1});
  CHECK(indexOf(table.insert(1)) != indexOf(first));
}

TEST(slot_table_renews_worn_slots_without_handles) {
  Table table;
  const uint32_t named = table.insert(0), free = table.insert(0);
  wear(table, named);
  wear(table, free);
  CHECK_EQ(table.worn(), size_t{2});
  table.renew([&](uint32_t index) { return index == indexOf(named); });
  CHECK_EQ(table.worn(), size_t{1});
  const uint32_t again = table.insert(5);
  CHECK_EQ(indexOf(again), indexOf(free));
  CHECK_EQ(*table.find(again), 5);
  CHECK(indexOf(table.insert(6)) != indexOf(named));
}

TEST(slot_table_visits_each_live_value_once) {
  Table table;
  std::map<uint32_t, int> expected;
  for (int i = 0; i < 50; ++i) {
    const uint32_t handle = table.insert(i);
    if (i % 3 == 0) {
      table.erase(handle);
    } else {
      expected[handle] = i;
    }
  }
  std::map<uint32_t, int> seen;
  table.forEach([&](uint32_t handle, int value) { CHECK(seen.emplace(handle, value).second); });
  CHECK(seen == expected);
}

TEST(slot_table_refuses_more_than_it_has_slots) {
  Table table;
  std::set<uint32_t> handles;
  for (uint32_t i = 0; i < Table::kIndexMask; ++i) handles.insert(table.insert(1));
  CHECK_EQ(handles.size(), size_t{Table::kIndexMask});
  CHECK_EQ(table.insert(1), 0u);
  table.erase(*handles.begin());
  CHECK(table.insert(1) != 0);
}
