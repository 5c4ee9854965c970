#include "../../native/engine/lane.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "../softefa/harness.h"

using fab::Lane;
using fab::OpCode;
using fab::Operation;

namespace {

// An operation with its blocks behind it, each marked with its request.
std::vector<Operation> operation(uint32_t request, uint8_t blocks = 0) {
  std::vector<Operation> entries(1u + blocks);
  for (Operation& entry : entries) entry.request = request;
  entries[0].code = OpCode::kSend;
  entries[0].blocks = blocks;
  return entries;
}

void push(Lane& lane, uint32_t request, uint8_t blocks = 0) {
  lane.push(operation(request, blocks)[0]);
}

std::vector<uint32_t> requests(const Lane& lane) {
  std::vector<uint32_t> all;
  lane.forEach([&](const Operation& each) { all.push_back(each.request); });
  return all;
}

}  // namespace

TEST(lane_returns_operations_in_order_with_their_blocks) {
  Lane lane;
  CHECK(lane.empty());
  for (uint32_t i = 1; i <= 5; ++i) {
    const auto entries = operation(i, static_cast<uint8_t>(i % 3));
    lane.push(entries[0]);
  }
  CHECK_EQ(lane.size(), size_t{5});
  CHECK_EQ(lane.end() - lane.begin(), ptrdiff_t{5 + 1 + 2 + 0 + 1 + 2});
  for (uint32_t i = 1; i <= 5; ++i) {
    const Operation* const front = &lane.front();
    CHECK_EQ(front->request, i);
    for (uint32_t block = 1; block <= front->blocks; ++block) CHECK_EQ(front[block].request, i);
    lane.pop();
  }
  CHECK(lane.empty());
  CHECK_EQ(lane.size(), size_t{0});
}

// The lane drops popped operations from time to time, at a length that depends on the pending ones.
TEST(lane_keeps_its_order_when_it_is_long_and_wraps) {
  Lane lane;
  std::deque<uint32_t> expected;
  uint32_t next = 0, random = 1;
  for (int round = 0; round < 40'000; ++round) {
    random = random * 1664525 + 1013904223;
    const bool grow = round < 10'000 || (random >> 16) % 2 == 0;
    if (grow || expected.empty()) {
      push(lane, next, static_cast<uint8_t>((random >> 24) % 4));
      expected.push_back(next++);
    } else {
      CHECK_EQ(lane.front().request, expected.front());
      lane.pop();
      expected.pop_front();
    }
  }
  CHECK(requests(lane) == std::vector<uint32_t>(expected.begin(), expected.end()));
  for (; !expected.empty(); expected.pop_front(), lane.pop()) {
    CHECK_EQ(lane.front().request, expected.front());
  }
  CHECK(lane.empty());
}

TEST(lane_removes_matching_operations_and_keeps_the_order_of_others) {
  Lane lane;
  push(lane, 99);
  for (uint32_t i = 0; i < 20; ++i) push(lane, i, static_cast<uint8_t>(i % 2));
  lane.pop();
  const auto even = [](const Operation& each) { return each.request % 2 == 0; };
  CHECK(lane.any(even));
  std::vector<uint32_t> taken;
  lane.removeIf(even, [&](const Operation& each) { taken.push_back(each.request); });
  CHECK((taken == std::vector<uint32_t>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}));
  CHECK((requests(lane) == std::vector<uint32_t>{1, 3, 5, 7, 9, 11, 13, 15, 17, 19}));
  CHECK(!lane.any(even));
  CHECK_EQ((&lane.front())[1].request, 1u);
}

TEST(lane_removes_one_operation_and_keeps_the_order_of_others) {
  Lane lane;
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 20; ++i) {
    push(lane, i, static_cast<uint8_t>(i % 3));
    expected.push_back(i);
  }
  const auto remove = [&](uint32_t request) {
    uint32_t taken = 99;
    const auto isIt = [&](const Operation& each) { return each.request == request; };
    const bool found = lane.removeOne(isIt, [&](const Operation& each) { taken = each.request; });
    CHECK_EQ(taken, found ? request : 99u);
    return found;
  };
  for (const uint32_t request : {7u, 8u, 3u, 0u, 1u, 19u, 2u, 12u}) {
    CHECK(remove(request));
    CHECK(!remove(request));
    expected.erase(std::find(expected.begin(), expected.end(), request));
    CHECK(requests(lane) == expected);
    CHECK_EQ(lane.size(), expected.size());
    CHECK_EQ(lane.front().request, expected.front());
  }
  push(lane, 20, 2);
  expected.push_back(20);
  CHECK(remove(20));
  expected.pop_back();
  for (const uint32_t request : expected) {
    CHECK_EQ(lane.front().request, request);
    lane.pop();
  }
  CHECK(lane.empty());
}

// Compares random pushes, pops and removals with a list.
TEST(lane_with_removed_operations_keeps_its_order_when_it_is_long_and_wraps) {
  Lane lane;
  std::deque<uint32_t> expected;
  uint32_t next = 0, random = 1;
  for (int round = 0; round < 40'000; ++round) {
    random = random * 1664525 + 1013904223;
    const uint32_t choice = (random >> 16) % 4;
    if (round < 10'000 || choice < 2 || expected.empty()) {
      push(lane, next, static_cast<uint8_t>((random >> 24) % 4));
      expected.push_back(next++);
    } else if (choice == 2) {
      CHECK_EQ(lane.front().request, expected.front());
      lane.pop();
      expected.pop_front();
    } else {
      const auto it = expected.begin() + static_cast<ptrdiff_t>((random >> 20) % expected.size());
      const auto isIt = [&](const Operation& each) { return each.request == *it; };
      CHECK(lane.removeOne(isIt, [](const Operation&) {}));
      expected.erase(it);
    }
    CHECK_EQ(lane.empty(), expected.empty());
  }
  CHECK(requests(lane) == std::vector<uint32_t>(expected.begin(), expected.end()));
}

TEST(lane_removes_100000_operations_in_their_order_in_linear_time) {
  Lane lane;
  constexpr uint32_t kCount = 100'000;
  push(lane, kCount);
  for (uint32_t i = 0; i < kCount; ++i) push(lane, i);
  uint64_t compared = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    const auto isIt = [&](const Operation& each) {
      ++compared;
      return each.request == i;
    };
    CHECK(lane.removeOne(isIt, [](const Operation&) {}));
  }
  CHECK(compared <= kCount + 1);
  CHECK_EQ(lane.size(), size_t{1});
}
