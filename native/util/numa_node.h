#pragma once

#include <rdma/fi_errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <string>

#include "error.h"

namespace fab {

constexpr unsigned kMaxNumaNodes = 1024;  // of any Linux

// Requests that the pages of a mapping, which are not yet allocated, come from a NUMA node:
// mbind(2). If the node is full, the kernel takes them from other nodes. Throws FabricFailure.
inline void preferNumaNode(void* memory, size_t size, unsigned node) {
  constexpr int kPreferred = 1;  // MPOL_PREFERRED
  constexpr size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, kMaxNumaNodes / kBits> nodes{};
  nodes[node / kBits] = 1UL << (node % kBits);
  if (syscall(SYS_mbind, memory, size, kPreferred, nodes.data(), kMaxNumaNodes + 1, 0) == 0) return;
  const int error = errno;
  if (error == ENOSYS && node == 0) return;  // a kernel without NUMA
  std::string detail = "the memory cannot be bound to NUMA node " + std::to_string(node);
  if (error == EINVAL) detail = "there is no NUMA node " + std::to_string(node) + " with memory";
  if (error == EPERM) detail += ": in a container this may need CAP_SYS_NICE";
  throw FabricFailure(error == EINVAL ? FI_ENODEV : error, "mbind", detail);
}

// The NUMA node of the page at an address. The page must be present. -1 if the system does not
// report it.
inline int numaNodeOf(const void* address) {
  constexpr unsigned long kNodeOfAddress = 1 | 2;  // MPOL_F_NODE | MPOL_F_ADDR
  int node = -1;
  return syscall(SYS_get_mempolicy, &node, nullptr, 0, address, kNodeOfAddress) == 0 ? node : -1;
}

}  // namespace fab
