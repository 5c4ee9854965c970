// Which calls of libfabric fail: a page of a file that the program under test maps, and that its
// JavaScript writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace faults {

/** The kinds of calls, in the order of KINDS in injector.mjs. */
enum class Kind : size_t {
  Query,
  Open,
  Bind,
  Enable,
  Option,
  Insert,
  Register,
  Post,
  Read,
  Wait,
  Cancel,
  Close,
  Space,
  Count
};

/** The plan of one kind, 64 bytes. Calls are counted from 1. */
struct Entry {
  std::atomic<uint64_t> calls;
  std::atomic<uint64_t> first;   // the first call that fails; 0: none
  std::atomic<uint64_t> times;   // the number of successive calls that fail
  std::atomic<uint64_t> chance;  // further calls in a million that fail
  std::atomic<uint64_t> seed;    // which ones: a function of the seed and the number of the call
  std::atomic<int64_t> error;    // the errno, positive; 0: the call reports that it did nothing
  std::atomic<uint64_t> failed;  // how many calls have failed
  uint64_t unused;
};

struct Page {
  Entry entries[static_cast<size_t>(Kind::Count)];
};

struct Verdict {
  bool fails;
  int error;
};

/** Counts a call and decides whether it fails. */
Verdict decide(Kind kind);

/** The call did nothing (FI_EAGAIN). It does not count, because the number of such calls varies. */
void discount(Kind kind);

/** Whether an address is in the code of the addon. Calls that libfabric makes itself never fail. */
bool isAddon(const void* code);

}  // namespace faults
