#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace softefa {

// The SOFTEFA_* environment variables, read once per process, with their defaults:
//
//   NAMESPACE    processes of one user reach each other in one namespace      "default"
//   DIRECTORY    the directory of shared files                                /dev/shm, else /tmp
//   KEEP         0: remove counters with the namespace's last process         1
//   NODE         the simulated host of this process, 0..65535                 0
//   NICS         number of devices of a node                                  1
//   ASYNC        1: an engine thread executes work requests after the post    0
//   DIRECT       1: queues that the efa provider fills and reads itself       0
//   SEED         seed of all random choices                                   1
//   CAPS         capabilities: names, all, none, or a mask                    the usual ones
//   PART_ID      vendor_part_id, 0xefa0..0xefaf: generation.cc                0xefa2
//   FORK_STATUS  0: off until ibv_fork_init, 1: on, 2: not needed             2
//   MAX_MR       registrations per process                                    65536
//   MEMLOCK      bytes or "unlimited", in place of RLIMIT_MEMLOCK             the limit
//   TIMEOUT_MS   timeout for a silent peer                                    5000
//   RATE         bytes per second of each NIC in each direction, 0: no limit  0
//   NUMA_NODES   NUMA nodes of the devices, separated by commas: "0,0,1,1"   none
//   COPY         "bounce": do not use process_vm_readv(2)                     ""
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
  uint64_t rate = 0;
  std::vector<int> numaNodes;  // device i has the one at i modulo their number
  bool bounce = false;

  static const Options& get();
};

// Prints one line to stderr, "softefa: ...".
void report(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace softefa
