#pragma once

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "completion_counter.h"
#include "completion_queue.h"
#include "peers.h"
#include "random.h"
#include "receive_region.h"
#include "work_request.h"
#include "work_ring.h"

namespace softefa {

class Context;

// efadv_qp of the newest header, whatever headers the build uses.
struct EfaQp {
  uint64_t comp_mask;
  void (*wr_set_processing_hints)(EfaQp* qp, uint32_t hints);
};

struct QueuePairAttributes {
  ibv_qp_type type;
  ibv_qp_cap cap;
  ibv_pd* pd;
  CompletionQueue* sendQueue;
  CompletionQueue* receiveQueue;
  void* userContext;
  bool signalAll;
  bool builders;  // created with send_ops_flags
  uint64_t sendOps;
  bool unsolicited;   // immediate data arrives without a receive
  bool inlineWrites;  // created with EFADV_QP_FLAGS_INLINE_WRITE
  bool hints;         // created with EFADV_WR_EX_WITH_PROCESSING_HINTS
};

// A queue pair, SRD or UD.
//
//   queue_pair.cc    creation, states, destruction
//   send_queue.cc    posting sends, waiting requests, turn()
//   receive_queue.cc posting receives, arrivals
//   builders.cc      the wr_* calls
//   direct_work.cc   work queues that the user fills itself
//   counting.cc      completion counters
//   execute.cc       execution of a work request
class QueuePair {
 public:
  // Throws std::system_error.
  QueuePair(Context& context, const QueuePairAttributes& attributes);
  ~QueuePair();

  static QueuePair& of(ibv_qp* qp) { return Extended::ownerOf(qp); }
  static QueuePair& of(ibv_qp_ex* qp) { return Extended::ownerOf(qp); }
  ibv_qp* verbs() { return &verbs_.qp_base; }
  ibv_qp_ex* builders() { return attributes_.builders ? &verbs_ : nullptr; }
  EfaQp* efa() { return &efa_; }

  Context& context() const { return context_; }
  const QueuePairAttributes& attributes() const { return attributes_; }
  uint32_t number() const { return verbs_.qp_base.qp_num; }
  uint32_t pd() const { return attributes_.pd->handle; }
  bool isUd() const { return attributes_.type == IBV_QPT_UD; }
  // The state of the device. The device may have failed the queue pair.
  ibv_qp_state state() const {
    return static_cast<ibv_qp_state>(state_.load(std::memory_order_acquire));
  }
  // The state that the user has set last. As in rdma-core, it decides which posts are refused.
  ibv_qp_state userState() const {
    return __atomic_load_n(&verbs_.qp_base.state, __ATOMIC_RELAXED);
  }
  uint32_t rnrRetry() const { return rnrRetry_; }
  bool receivesInto(const CompletionQueue& queue) const {
    return attributes_.receiveQueue == &queue;
  }

  int modify(const ibv_qp_attr& attributes, int mask);
  void query(ibv_qp_attr& attributes, ibv_qp_init_attr& init) const;
  // Hides it from peers permanently. Returns when no peer uses it.
  void hide();
  // The device moves to the error state, because its completion queue accepts no more arrivals.
  void enterErrorState();

  // send_queue.cc
  int postSend(ibv_send_wr* wr, ibv_send_wr** bad);
  // Retries waiting requests. Returns true if any made progress. Sets `due` to the time of the next
  // retry.
  bool turn(uint64_t& due);
  void turnWhilePolled();
  bool hasPending() const { return pendingCount_.load(std::memory_order_relaxed) != 0; }
  // Frees the resources of a polled completion.
  void retire(const Completion& completion);

  // receive_queue.cc
  int postReceive(ibv_recv_wr* wr, ibv_recv_wr** bad);
  bool takeArrival(Completion& completion);
  bool hasArrival() const;
  bool arrivalsExceed(uint64_t count);
  // Makes processes that add an arrival wake this process's engine.
  void wakeForArrivals();
  // Posts the receives again that processes had claimed when they ended.
  void recoverReceives();

  // direct_work.cc: creates work queues that the user fills itself. Throws std::system_error.
  WorkRings& makeRings();
  // Called by the engine: takes ready requests from the rings. Returns true if there were any.
  bool fetch();

  // counting.cc. Returns EBUSY or EINVAL on failure.
  int attach(CompletionCounter& counter, uint32_t kinds);
  // Counts operations of peers. Returns true if there were any.
  bool collect();

  // execute.cc: the peer's queue pair, which is cached.
  std::shared_ptr<RemoteQueuePair> remote(const WorkRequest& request, Status& why);
  Random* scatter();
  Random& chance() { return chance_; }

  // builders.cc
  void begin();
  WorkRequest* build(Operation operation);
  WorkRequest* building();
  void failBuild(int error);
  int finish();
  void abort();
  void fillBuilders();

 private:
  using Extended = Handle<ibv_qp_ex, QueuePair>;

  struct Receive {
    uint64_t id;
    uint32_t sges;
    bool outstanding;
    uint64_t number;  // under which it was posted
    ibv_sge sge[kMaxSge];
  };

  void open();
  void moveTo(ibv_qp_state state);
  void setState(ibv_qp_state state);
  void flush();
  void flushReceive(uint32_t slot);
  void reset();
  void freeAllReceives();

  int validateSend(unsigned flags) const;
  int toWorkRequest(const ibv_send_wr& wr, WorkRequest& request) const;
  void submit(WorkRequest& request);
  bool waitsBehind(const WorkRequest& request) const;
  bool attempt(WorkRequest& request);
  void complete(const WorkRequest& request, Status status);
  void countOwn(const WorkRequest& request, Status status);
  void countFlushedReceive();
  void unmapEndedPeers();

  uint32_t enqueue(uint64_t id, const ibv_sge* sges, uint32_t count);
  void publish(uint32_t slot);
  std::vector<bool> arrivedReceives() const;
  std::vector<uint32_t> lostReceives();
  bool fetchSends(bool& nonsense);
  bool fetchReceives(bool& nonsense);
  void fail();

  bool take(const ArrivalContent& arrival, Completion& completion);
  bool place(const ArrivalContent& arrival, const Receive& receive);
  uint16_t ahnOf(uint32_t nic);

  Context& context_;
  const QueuePairAttributes attributes_;
  Extended handle_{*this};
  ibv_qp_ex& verbs_ = handle_.verbs;
  EfaQp efa_{};
  // Peers read this entry, and may write it. The device itself uses the members below.
  QueuePairEntry* entry_ = nullptr;
  std::atomic<uint32_t> state_{IBV_QPS_RESET};
  std::atomic<uint32_t> qkey_{0};
  uint32_t sqPsn_ = 0;
  RegionShape shape_;
  RegionView view_;
  uint32_t rnrRetry_;
  std::unique_ptr<WorkRings> rings_;
  AttachedCounters counted_;

  std::mutex sending_;
  std::vector<WorkRequest> session_;
  int sessionError_ = 0;
  std::deque<WorkRequest> pending_;
  std::vector<WorkRequest> ready_;
  std::unordered_set<uint64_t> notReady_;  // destinations that had no receive for a waiting request
  std::atomic<uint32_t> pendingCount_{0};
  std::atomic<uint32_t> sendsOutstanding_{0};
  std::unordered_map<uint64_t, std::shared_ptr<RemoteQueuePair>> remotes_;
  std::shared_ptr<RemoteQueuePair> lastRemote_;
  uint64_t lastRemoteKey_ = 0;
  Random random_;  // for posting
  Random chance_;  // for execution

  std::mutex receiving_;
  std::vector<Receive> receives_;
  std::vector<uint32_t> freeReceives_;
  uint64_t posted_ = 0;
  uint64_t consumed_ = 0;
  uint64_t arrivalLimit_ = UINT64_MAX;
  uint32_t ahnEpoch_ = 0;
  uint32_t ahnNic_ = 0;
  uint16_t ahn_ = 0;
};

}  // namespace softefa
