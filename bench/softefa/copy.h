#pragma once

#include <sched.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

#include "pair.h"

namespace bench {

using CopyCall = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                             unsigned long);

// The memory that one side lets its peer copy.
struct CopyTarget {
  explicit CopyTarget(size_t bytes) : memory(bytes, 1) {
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  }

  std::vector<char> memory;
  std::atomic<uint64_t> finished{0};
};

// The loop of rma.h with one system call per operation: the client copies to or from the memory of
// the server. The server polls meanwhile, as it does over a provider, because virtual cores may be
// slower when all are busy.
inline void runCopy(const char* loop, const Options& options, CopyCall copy) {
  CopyTarget own(options.largest());
  std::ostringstream mine;
  mine << ::getpid() << ' ' << reinterpret_cast<uintptr_t>(own.memory.data()) << ' '
       << reinterpret_cast<uintptr_t>(&own.finished);
  std::istringstream theirs(exchange(mine.str()));
  pid_t pid = 0;
  uintptr_t memory = 0, finished = 0;
  theirs >> pid >> memory >> finished;

  const auto call = [&](CopyCall function, void* local, uintptr_t remote, size_t bytes) {
    const iovec here{local, bytes}, there{reinterpret_cast<void*>(remote), bytes};
    if (function(pid, &here, 1, &there, 1, 0) != static_cast<ssize_t>(bytes)) {
      throw std::system_error(errno, std::generic_category(), loop);
    }
  };
  uint64_t turn = 0;
  for (const Size& size : options.sizes) {
    ++turn;
    exchange("ready");
    if (options.server) {
      while (own.finished.load() != turn) ::sched_yield();
      continue;
    }
    const auto copyOne = [&] { call(copy, own.memory.data(), memory, size.bytes); };
    report(loop, size, size.iterations, timed(size.iterations, copyOne));
    call(::process_vm_writev, &turn, finished, sizeof turn);
  }
  exchange("done");
}

}  // namespace bench
