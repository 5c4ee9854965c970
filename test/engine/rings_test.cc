#include "../../native/engine/rings.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <tuple>
#include <vector>

#include "../softefa/harness.h"

using fab::Completion;
using fab::CompletionRing;
using fab::Control;
using fab::OpCode;
using fab::Operation;
using fab::SubmissionRing;

namespace {

constexpr uint32_t kCapacity = 8;

// Two threads pass numbers for a short time. On a busy machine they take turns of milliseconds, so
// it may be only a few.
class ShortTime {
 public:
  bool isOver(uint32_t passed) const { return passed == kMost || Clock::now() > end_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr uint32_t kMost = 50'000;

  const Clock::time_point end_ = Clock::now() + std::chrono::seconds(1);
};

// JavaScript's side: it writes at the tail, and fills the rest before the end of the ring with
// kNop.
class Writer {
 public:
  Writer(Control& control, std::vector<Operation>& entries)
      : control_(control), entries_(entries) {}

  // Returns false if there is no room.
  bool write(uint32_t request, uint8_t blocks = 0, OpCode code = OpCode::kSend) {
    const uint32_t size = 1u + blocks, left = kCapacity - tail_ % kCapacity;
    const uint32_t padding = size > left ? left : 0;
    const uint32_t head = control_.submissionHead.load(std::memory_order_acquire);
    if (tail_ + padding + size - head > kCapacity) return false;
    if (padding > 0) put(OpCode::kNop, 0, static_cast<uint8_t>(padding - 1));
    put(code, request, blocks);
    control_.submissionTail.store(tail_, std::memory_order_release);
    return true;
  }

 private:
  void put(OpCode code, uint32_t request, uint8_t blocks) {
    for (uint32_t i = 0; i <= blocks; ++i) entries_[(tail_ + i) % kCapacity].request = request;
    Operation& operation = entries_[tail_ % kCapacity];
    operation.code = code;
    operation.memory = request;
    operation.blocks = blocks;
    tail_ += 1u + blocks;
  }

  Control& control_;
  std::vector<Operation>& entries_;
  uint32_t tail_ = 0;
};

struct Submissions {
  Control control{};
  std::vector<Operation> entries{kCapacity};
  SubmissionRing ring{control, entries.data(), kCapacity};
  Writer writer{control, entries};

  std::vector<uint32_t> drain(uint32_t limit = UINT32_MAX) {
    std::vector<uint32_t> requests;
    ring.drain(limit, [&](const Operation& operation) {
      for (uint32_t i = 1; i <= operation.blocks; ++i) {
        CHECK_EQ((&operation)[i].request, operation.request);
      }
      requests.push_back(operation.request);
    });
    return requests;
  }
};

struct Completions {
  Control control{};
  std::vector<Completion> entries{kCapacity};
  CompletionRing ring{control, entries.data(), kCapacity};
  uint32_t head = 0;

  void push(uint32_t request) {
    Completion completion{};
    completion.request = request;
    ring.push(completion);
  }
  // Like JavaScript, takes all entries that are present.
  std::vector<uint32_t> take() {
    std::vector<uint32_t> requests;
    const uint32_t tail = control.completionTail.load(std::memory_order_acquire);
    for (; head != tail; ++head) requests.push_back(entries[head % kCapacity].request);
    control.completionHead.store(head, std::memory_order_release);
    return requests;
  }
};

}  // namespace

TEST(submissions_are_drained_in_order_round_after_round) {
  Submissions submissions;
  CHECK(submissions.ring.empty());
  CHECK_EQ(submissions.drain().size(), size_t{0});
  for (uint32_t i = 0; i < 100; i += 3) {
    for (uint32_t j = i; j < i + 3; ++j) CHECK(submissions.writer.write(j));
    CHECK(!submissions.ring.empty());
    CHECK((submissions.drain() == std::vector<uint32_t>{i, i + 1, i + 2}));
    CHECK(submissions.ring.empty());
  }
}

TEST(submissions_keep_their_blocks_behind_them_at_the_end_of_the_ring) {
  Submissions submissions;
  for (uint32_t i = 0; i < 100; ++i) {
    CHECK(submissions.writer.write(i, static_cast<uint8_t>(i % 4)));
    CHECK((submissions.drain() == std::vector<uint32_t>{i}));
  }
}

TEST(submissions_free_space_when_they_are_drained) {
  Submissions submissions;
  for (uint32_t i = 0; i < kCapacity; ++i) CHECK(submissions.writer.write(i));
  CHECK(!submissions.writer.write(99));
  CHECK((submissions.drain(3) == std::vector<uint32_t>{0, 1, 2}));
  CHECK(submissions.writer.write(8, 1));
  CHECK((submissions.drain() == std::vector<uint32_t>{3, 4, 5, 6, 7, 8}));
}

TEST(submissions_count_the_entries_of_blocks_and_padding) {
  Submissions submissions;
  CHECK(submissions.writer.write(1, 4));
  const auto nothing = [](const Operation&) {};
  CHECK_EQ(submissions.ring.drain(UINT32_MAX, nothing), 5u);
  CHECK(submissions.writer.write(2, 3));  // behind 3 entries of padding
  CHECK_EQ(submissions.ring.drain(UINT32_MAX, nothing), 7u);
}

TEST(submissions_that_claim_more_entries_than_there_are_are_discarded) {
  // Past the last entry of the ring, past the last written entry, and more than the ring has.
  for (const auto& [start, blocks, written] :
       {std::tuple{7u, 1, 2u}, {0u, 3, 3u}, {0u, 255, 8u}, {2u, 0, 9u}}) {
    Submissions submissions;
    for (uint32_t i = 0; i < start; ++i) CHECK(submissions.writer.write(i));
    submissions.drain();
    submissions.entries[start % kCapacity].code = OpCode::kSend;
    submissions.entries[start % kCapacity].blocks = static_cast<uint8_t>(blocks);
    submissions.control.submissionTail = start + written;
    CHECK_EQ(submissions.drain().size(), size_t{0});
    CHECK(submissions.ring.empty());
    CHECK_EQ(submissions.control.submissionHead.load(), start + written);
  }
}

TEST(submissions_are_copied_before_they_are_read) {
  Submissions submissions;
  CHECK(submissions.writer.write(1, 2));
  submissions.ring.drain(UINT32_MAX, [&](const Operation& operation) {
    for (Operation& entry : submissions.entries) entry = {};
    for (uint32_t i = 0; i <= 2; ++i) CHECK_EQ((&operation)[i].request, 1u);
  });
}

TEST(submissions_of_another_thread_arrive_whole) {
  Submissions submissions;
  std::atomic<uint32_t> written{UINT32_MAX};
  std::thread writes([&] {
    uint32_t i = 0;
    for (const ShortTime time; !time.isOver(i); ++i) {
      while (!submissions.writer.write(i, static_cast<uint8_t>(i % 3))) std::this_thread::yield();
    }
    written = i;
  });
  for (uint32_t next = 0; next < written;) {
    for (const uint32_t request : submissions.drain(4)) CHECK_EQ(request, next++);
    std::this_thread::yield();
  }
  writes.join();
  CHECK(written > kCapacity);
  CHECK(submissions.ring.empty());
}

TEST(completions_that_do_not_fit_wait_in_order) {
  Completions completions;
  CHECK(!completions.ring.waiting());
  for (uint32_t i = 0; i < 3 * kCapacity; ++i) completions.push(i);
  CHECK_EQ(completions.ring.pushed(), uint64_t{3 * kCapacity});
  uint32_t next = 0;
  for (int round = 0; round < 3; ++round) {
    CHECK(completions.ring.waiting());
    const auto taken = completions.take();
    CHECK_EQ(taken.size(), size_t{kCapacity});
    for (const uint32_t request : taken) CHECK_EQ(request, next++);
    completions.ring.flushOverflow();
  }
  CHECK(!completions.ring.waiting());
}

TEST(only_the_unread_cancellations_of_a_request_are_discarded) {
  Submissions submissions;
  CHECK(submissions.writer.write(1));
  CHECK(submissions.drain() == std::vector<uint32_t>{1});
  CHECK(submissions.writer.write(2, 1));
  CHECK(submissions.writer.write(5, 0, OpCode::kCancel));
  CHECK(submissions.writer.write(5));
  CHECK(submissions.writer.write(6, 0, OpCode::kCancel));
  CHECK(submissions.writer.write(5, 0, OpCode::kCancel));
  submissions.ring.discardCancels(5);
  CHECK((submissions.drain() == std::vector<uint32_t>{2, 5, 6}));
  submissions.ring.discardCancels(5);
}

TEST(completions_do_not_overtake_waiting_ones) {
  Completions completions;
  for (uint32_t i = 0; i <= kCapacity; ++i) completions.push(i);
  CHECK_EQ(completions.take().size(), size_t{kCapacity});
  completions.push(kCapacity + 1);  // there is room now, and one entry waits
  CHECK_EQ(completions.take().size(), size_t{0});
  completions.ring.flushOverflow();
  CHECK((completions.take() == std::vector<uint32_t>{kCapacity, kCapacity + 1}));
}

TEST(completions_reach_another_thread_whole) {
  constexpr uint32_t kBurst = 8 * kCapacity;  // more than the ring has room for
  Completions completions;
  std::atomic<uint32_t> pushed{UINT32_MAX};
  std::thread takes([&] {
    for (uint32_t next = 0; next < pushed;) {
      for (const uint32_t request : completions.take()) CHECK_EQ(request, next++);
      std::this_thread::yield();
    }
  });
  const auto flush = [&] {
    while (completions.ring.waiting()) {
      completions.ring.flushOverflow();
      std::this_thread::yield();
    }
  };
  uint32_t i = 0;
  for (const ShortTime time; !time.isOver(i); ++i) {
    completions.push(i);
    completions.ring.flushOverflow();
    if (i % kBurst == 0) flush();
  }
  flush();
  pushed = i;
  takes.join();
  CHECK(pushed > kBurst);
}
