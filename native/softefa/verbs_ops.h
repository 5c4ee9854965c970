#pragma once

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

// The calls that verbs.h makes through function pointers in the objects. A caller sees only these
// and the exports of interpose_*.cc. Exceptions are converted to errno here.
namespace softefa::ops {

int queryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t size);
int queryDeviceEx(ibv_context* context, const ibv_query_device_ex_input* input,
                  ibv_device_attr_ex* attributes, size_t size);

ibv_cq_ex* createCqEx(ibv_context* context, ibv_cq_init_attr_ex* attributes);
// The memory for the entries of a completion queue, in a file of the caller.
struct CqMemory {
  uint8_t* buffer;  // where the caller has mapped it
  int fd;
  uint64_t offset;
  uint64_t length;
};
// The flags of efadv_create_cq() for the contents of a completion.
constexpr uint64_t kWithSgid = 1, kWithUnsolicited = 2;
ibv_cq_ex* createCq(ibv_context* context, ibv_cq_init_attr_ex& attributes, uint64_t efaFlags,
                    const CqMemory* memory = nullptr);
int pollCq(ibv_cq* cq, int count, ibv_wc* wc);
int requestNotify(ibv_cq* cq, int solicitedOnly);
// `flags` are the ibv_create_cq_wc_flags of the queue: the contents of its completions.
void fillPolling(ibv_cq_ex& cq, uint64_t flags);
int readSgid(efadv_cq* cq, ibv_gid* gid);
bool isUnsolicited(efadv_cq* cq);

// These functions return nullptr and set errno on failure.
ibv_mr* registerMemory(ibv_pd* pd, void* address, size_t length, uint64_t iova, unsigned access);
// The dmabuf may also be another file that can be mapped, such as a memfd.
ibv_mr* registerDmabuf(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                       unsigned access);
ibv_ah* createAddressHandle(ibv_pd* pd, const ibv_ah_attr& attributes);

// Sets the function pointers that verbs.h calls without a null check and that EFA does not support.
void refuse(ibv_context_ops& ops);

// The attributes that efadv_create_qp_ex adds, with the members of the newest header, whatever
// headers the build uses.
struct EfaQpAttributes {
  uint64_t comp_mask;
  uint32_t driver_qp_type;
  uint16_t flags;
  uint8_t sl;
  uint8_t reserved;
  uint64_t wr_flags;
};
constexpr uint16_t kUnsolicitedFlag = 1, kInlineWriteFlag = 2;
constexpr uint64_t kProcessingHints = 1;  // the only flag of wr_flags

// The most work requests of a queue pair, by the size of its descriptors.
uint32_t maxSends(uint32_t inlineData, bool inlineWrites);
uint32_t maxReceives(uint32_t segments);
// Reports that receives have no segments. Returns EINVAL.
int refuseNoSegments();

ibv_qp* createQpEx(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_qp* createQp(ibv_context* context, ibv_qp_init_attr_ex& attributes, const EfaQpAttributes& efa);
int postSend(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
int postReceive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);

}  // namespace softefa::ops
