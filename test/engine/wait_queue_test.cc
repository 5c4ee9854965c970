#include "../../native/engine/wait_queue.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "../softefa/harness.h"

using fab::OpCode;
using fab::Operation;
using fab::WaitQueue;

namespace {

// An operation with its blocks behind it, each marked with its request.
std::vector<Operation> operation(uint32_t request, uint8_t blocks = 0) {
  std::vector<Operation> entries(1u + blocks);
  for (Operation& entry : entries) entry.request = request;
  entries[0].code = OpCode::kSend;
  entries[0].blocks = blocks;
  return entries;
}

void push(WaitQueue& queue, uint32_t request, uint8_t blocks = 0) {
  queue.push(operation(request, blocks)[0]);
}

std::vector<uint32_t> requests(const WaitQueue& queue) {
  std::vector<uint32_t> all;
  queue.forEach([&](const Operation& each) { all.push_back(each.request); });
  return all;
}

}  // namespace

TEST(lane_returns_operations_in_order_with_their_blocks) {
  WaitQueue queue;
  CHECK(queue.empty());
  for (uint32_t i = 1; i <= 5; ++i) {
    const auto entries = operation(i, static_cast<uint8_t>(i % 3));
    queue.push(entries[0]);
  }
  CHECK_EQ(queue.size(), size_t{5});
  CHECK_EQ(queue.end() - queue.begin(), ptrdiff_t{5 + 1 + 2 + 0 + 1 + 2});
  for (uint32_t i = 1; i <= 5; ++i) {
    const Operation* const front = &queue.front();
    CHECK_EQ(front->request, i);
    for (uint32_t block = 1; block <= front->blocks; ++block) CHECK_EQ(front[block].request, i);
    queue.pop();
  }
  CHECK(queue.empty());
  CHECK_EQ(queue.size(), size_t{0});
}

// The queue drops popped operations from time to time, at a length that depends on the pending
// ones.
TEST(lane_keeps_its_order_when_it_is_long_and_wraps) {
  WaitQueue queue;
  std::deque<uint32_t> expected;
  uint32_t next = 0, random = 1;
  for (int round = 0; round < 40'000; ++round) {
    random = random * 1664525 + 1013904223;
    const bool grow = round < 10'000 || (random >> 16) % 2 == 0;
    if (grow || expected.empty()) {
      push(queue, next, static_cast<uint8_t>((random >> 24) % 4));
      expected.push_back(next++);
    } else {
      CHECK_EQ(queue.front().request, expected.front());
      queue.pop();
      expected.pop_front();
    }
  }
  CHECK(requests(queue) == std::vector<uint32_t>(expected.begin(), expected.end()));
  for (; !expected.empty(); expected.pop_front(), queue.pop()) {
    CHECK_EQ(queue.front().request, expected.front());
  }
  CHECK(queue.empty());
}

TEST(lane_removes_matching_operations_and_keeps_the_order_of_others) {
  WaitQueue queue;
  push(queue, 99);
  for (uint32_t i = 0; i < 20; ++i) push(queue, i, static_cast<uint8_t>(i % 2));
  queue.pop();
  const auto even = [](const Operation& each) { return each.request % 2 == 0; };
  CHECK(queue.any(even));
  std::vector<uint32_t> taken;
  queue.removeIf(even, [&](const Operation& each) { taken.push_back(each.request); });
  CHECK((taken == std::vector<uint32_t>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}));
  CHECK((requests(queue) == std::vector<uint32_t>{1, 3, 5, 7, 9, 11, 13, 15, 17, 19}));
  CHECK(!queue.any(even));
  CHECK_EQ((&queue.front())[1].request, 1u);
}

TEST(lane_removes_one_operation_and_keeps_the_order_of_others) {
  WaitQueue queue;
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 20; ++i) {
    push(queue, i, static_cast<uint8_t>(i % 3));
    expected.push_back(i);
  }
  const auto remove = [&](uint32_t request) {
    uint32_t taken = 99;
    const bool found =
        queue.removeRequest(request, [&](const Operation& each) { taken = each.request; });
    CHECK_EQ(taken, found ? request : 99u);
    return found;
  };
  for (const uint32_t request : {7u, 8u, 3u, 0u, 1u, 19u, 2u, 12u}) {
    CHECK(remove(request));
    CHECK(!remove(request));
    expected.erase(std::find(expected.begin(), expected.end(), request));
    CHECK(requests(queue) == expected);
    CHECK_EQ(queue.size(), expected.size());
    CHECK_EQ(queue.front().request, expected.front());
  }
  push(queue, 20, 2);
  expected.push_back(20);
  CHECK(remove(20));
  expected.pop_back();
  for (const uint32_t request : expected) {
    CHECK_EQ(queue.front().request, request);
    queue.pop();
  }
  CHECK(queue.empty());
}

// Compares random pushes, pops and removals with a list.
TEST(lane_with_removed_operations_keeps_its_order_when_it_is_long_and_wraps) {
  WaitQueue queue;
  std::deque<uint32_t> expected;
  uint32_t next = 0, random = 1;
  for (int round = 0; round < 40'000; ++round) {
    random = random * 1664525 + 1013904223;
    const uint32_t choice = (random >> 16) % 4;
    if (round < 10'000 || choice < 2 || expected.empty()) {
      push(queue, next, static_cast<uint8_t>((random >> 24) % 4));
      expected.push_back(next++);
    } else if (choice == 2) {
      CHECK_EQ(queue.front().request, expected.front());
      queue.pop();
      expected.pop_front();
    } else {
      const auto it = expected.begin() + static_cast<ptrdiff_t>((random >> 20) % expected.size());
      CHECK(queue.removeRequest(*it, [](const Operation&) {}));
      expected.erase(it);
    }
    CHECK_EQ(queue.empty(), expected.empty());
  }
  CHECK(requests(queue) == std::vector<uint32_t>(expected.begin(), expected.end()));
}

// A removal that searches 100,000 operations would take minutes here.
TEST(lane_removes_100000_operations_from_the_back_and_with_pops_between) {
  WaitQueue queue;
  constexpr uint32_t kCount = 100'000;
  const auto drop = [](const Operation&) {};
  for (uint32_t i = 0; i < 2 * kCount; ++i) push(queue, i);
  for (uint32_t i = kCount; i-- > 0;) {
    CHECK(queue.removeRequest(kCount + i, drop));
    CHECK(!queue.removeRequest(kCount + i, drop));
    queue.pop();
  }
  CHECK(queue.empty());
}

// JavaScript uses the number of a request that has ended again.
TEST(lane_finds_the_operation_that_has_the_number_now) {
  WaitQueue queue;
  const auto drop = [](const Operation&) {};
  push(queue, 1);
  push(queue, 2);
  CHECK(queue.removeRequest(2, drop));
  push(queue, 2);
  queue.pop();
  CHECK_EQ(queue.front().request, 2u);
  CHECK(queue.removeRequest(2, drop));
  CHECK(queue.empty());
  push(queue, 3);
  CHECK(!queue.removeRequest(2, drop));
}
