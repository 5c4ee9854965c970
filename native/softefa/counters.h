#pragma once

#include <atomic>
#include <cstdint>

#include "device_attributes.h"

namespace softefa {

using Count = std::atomic<uint64_t>;

// The counters of a NIC, with the names of the EFA driver's hw_counters.
struct alignas(64) NicCounters {
  // Packets and requests that this NIC sends.
  Count tx_bytes, tx_pkts, send_bytes, send_wrs;
  Count rdma_read_wrs, rdma_read_bytes, rdma_write_wrs, rdma_write_bytes;
  // Messages that it receives, and errors.
  Count rx_bytes, rx_pkts, recv_bytes, recv_wrs;
  Count rdma_read_wr_err, rdma_write_wr_err, retrans_bytes, retrans_pkts;
  // RDMA operations of peers.
  Count rdma_read_resp_bytes, rdma_write_recv_bytes, rx_drops;
  Count retrans_timeout_events, unresponsive_remote_events, impaired_remote_conn_events;
  // Control-path calls.
  Count submitted_cmds, completed_cmds, cmds_err, no_completion_cmds;
  Count keep_alive_rcvd, alloc_pd_err, create_qp_err, create_cq_err;
  Count reg_mr_err, alloc_ucontext_err, create_ah_err, mmap_err;
};

inline void add(Count& counter, uint64_t value = 1) {
  counter.fetch_add(value, std::memory_order_relaxed);
}

// Counts an RDMA operation of `initiator`.
inline void addRdma(NicCounters& initiator, NicCounters& target, bool read, uint64_t bytes) {
  const uint64_t packets = (bytes + kMaxMessage - 1) / kMaxMessage;
  NicCounters& source = read ? target : initiator;
  NicCounters& sink = read ? initiator : target;
  add(source.tx_bytes, bytes);
  add(source.tx_pkts, packets);
  add(sink.rx_bytes, bytes);
  add(sink.rx_pkts, packets);
  add(read ? initiator.rdma_read_wrs : initiator.rdma_write_wrs);
  add(read ? initiator.rdma_read_bytes : initiator.rdma_write_bytes, bytes);
  add(read ? target.rdma_read_resp_bytes : target.rdma_write_recv_bytes, bytes);
}

struct NamedCounter {
  const char* name;
  Count NicCounters::*counter;
};

inline constexpr NamedCounter kPortCounters[] = {
    {"tx_bytes", &NicCounters::tx_bytes},
    {"tx_pkts", &NicCounters::tx_pkts},
    {"send_bytes", &NicCounters::send_bytes},
    {"send_wrs", &NicCounters::send_wrs},
    {"rdma_read_wrs", &NicCounters::rdma_read_wrs},
    {"rdma_read_bytes", &NicCounters::rdma_read_bytes},
    {"rdma_read_wr_err", &NicCounters::rdma_read_wr_err},
    {"rdma_write_wrs", &NicCounters::rdma_write_wrs},
    {"rdma_write_bytes", &NicCounters::rdma_write_bytes},
    {"rdma_write_wr_err", &NicCounters::rdma_write_wr_err},
    {"retrans_bytes", &NicCounters::retrans_bytes},
    {"retrans_pkts", &NicCounters::retrans_pkts},
    {"retrans_timeout_events", &NicCounters::retrans_timeout_events},
    {"unresponsive_remote_events", &NicCounters::unresponsive_remote_events},
    {"impaired_remote_conn_events", &NicCounters::impaired_remote_conn_events},
    {"rx_bytes", &NicCounters::rx_bytes},
    {"rx_pkts", &NicCounters::rx_pkts},
    {"recv_bytes", &NicCounters::recv_bytes},
    {"recv_wrs", &NicCounters::recv_wrs},
    {"rx_drops", &NicCounters::rx_drops},
    {"rdma_read_resp_bytes", &NicCounters::rdma_read_resp_bytes},
    {"rdma_write_recv_bytes", &NicCounters::rdma_write_recv_bytes},
};

inline constexpr NamedCounter kDeviceCounters[] = {
    {"submitted_cmds", &NicCounters::submitted_cmds},
    {"completed_cmds", &NicCounters::completed_cmds},
    {"cmds_err", &NicCounters::cmds_err},
    {"no_completion_cmds", &NicCounters::no_completion_cmds},
    {"keep_alive_rcvd", &NicCounters::keep_alive_rcvd},
    {"alloc_pd_err", &NicCounters::alloc_pd_err},
    {"create_qp_err", &NicCounters::create_qp_err},
    {"create_cq_err", &NicCounters::create_cq_err},
    {"reg_mr_err", &NicCounters::reg_mr_err},
    {"alloc_ucontext_err", &NicCounters::alloc_ucontext_err},
    {"create_ah_err", &NicCounters::create_ah_err},
    {"mmap_err", &NicCounters::mmap_err},
};

}  // namespace softefa
