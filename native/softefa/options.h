#pragma once

#include <cstdint>
#include <string>

namespace softefa {

// What the SOFTEFA_* environment variables say, read once a process.
//
//   NAMESPACE    who meets whom: processes of one user and one namespace      "default"
//   DIRECTORY    where shared files live                                      /dev/shm, else /tmp
//   KEEP         0: counters end with the last process of the namespace         1
//   NODE         which host of the namespace this process plays, 0..65535     0
//   NICS         devices of a node                                            1
//   ASYNC        1: an engine thread executes work requests after the post    0
//   DIRECT       1: queues that the efa provider writes and reads by itself    0
//   SEED         of every random choice                                       1
//   CAPS         which of the part's capabilities: names, all, none, a mask   the usual ones
//   PART_ID      vendor_part_id, 0xefa0..0xefaf: generation.cc                0xefa2
//   FORK_STATUS  0: off until ibv_fork_init, 1: on, 2: not needed             2
//   MAX_MR       registrations a process                                      65536
//   MEMLOCK      bytes or "unlimited", in place of RLIMIT_MEMLOCK             the limit
//   TIMEOUT_MS   until a silent peer is given up                              5000
//   COPY         "bounce": do without process_vm_readv(2)                     ""
struct Options {
  std::string nameSpace = "default";
  std::string directory;
  bool keep = true;
  uint16_t node = 0;
  uint16_t nics = 1;
  bool async = false;
  bool direct = false;
  uint64_t seed = 1;
  uint32_t capabilities = 0;
  uint32_t partId = 0xefa2;
  int forkStatus = 2;
  uint32_t maxMr = 65536;
  bool memlockGiven = false;
  uint64_t memlock = 0;
  uint32_t timeoutMs = 5000;
  bool bounce = false;

  static const Options& get();
};

// One line to stderr, "softefa: ...".
void report(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace softefa
