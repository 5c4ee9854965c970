#include "../../native/engine/task_queue.h"

#include <vector>

#include "../softefa/harness.h"

using fab::TaskQueue;

TEST(task_queue_runs_tasks_in_order_and_at_most_so_many) {
  TaskQueue queue;
  std::vector<int> ran;
  for (int i = 0; i < 5; ++i) queue.add([&ran, i] { ran.push_back(i); });
  CHECK_EQ(queue.run(3), 3u);
  CHECK(queue.any());
  CHECK_EQ(queue.run(3), 2u);
  CHECK(!queue.any());
  CHECK(ran == (std::vector<int>{0, 1, 2, 3, 4}));
  CHECK_EQ(queue.run(3), 0u);
}

// The engine reads its completion queues between a task and a further task that the first one has
// added.
TEST(task_queue_runs_what_a_task_adds_the_next_time) {
  TaskQueue queue;
  int ran = 0;
  queue.add([&] {
    ++ran;
    queue.add([&] { ++ran; });
  });
  CHECK_EQ(queue.run(UINT32_MAX), 1u);
  CHECK_EQ(ran, 1);
  CHECK(queue.any());
  CHECK_EQ(queue.run(UINT32_MAX), 1u);
  CHECK_EQ(ran, 2);
}
