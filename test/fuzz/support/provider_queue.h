#pragma once

#include "provider.h"

// The completions of the provider, for operations that it has accepted.

namespace fuzz {

inline void Provider::end(size_t index, int error, bool last) {
  Operation& operation = posted_[index];
  checkAll(operation);  // the operation uses its memory until now
  fi_cq_err_entry done{};
  done.op_context = operation.context;
  done.flags = operation.use == Use::kReceive ? FI_RECV | FI_MSG : FI_SEND | FI_MSG;
  done.err = error;
  done.data = input_.take<uint8_t>();
  done.tag = done.data;
  size_t room = 0;
  for (const iovec& piece : operation.writes) {
    if (piece.iov_len > 0) std::memset(piece.iov_base, 0x5a, piece.iov_len);
    room += piece.iov_len;
  }
  if (operation.use == Use::kReceive && error == 0) {
    done.len = room == 0 ? 0 : input_.take<uint16_t>() % (room - operation.used + 1);
    if (!incoming_.empty() && !operation.writes.empty()) {
      done.len = std::min(incoming_.size(), operation.writes[0].iov_len);
      std::memcpy(operation.writes[0].iov_base, incoming_.data(), done.len);
      incoming_.clear();
    }
    if ((operation.flags & FI_MULTI_RECV) != 0 && !operation.writes.empty()) {
      auto* const base = static_cast<uint8_t*>(operation.writes[0].iov_base);
      done.buf = base == nullptr ? nullptr : base + operation.used;  // an empty piece
      operation.used += done.len;
      if (last || operation.used == room) done.flags |= FI_MULTI_RECV;
      if ((done.flags & FI_MULTI_RECV) == 0) {
        queue.done.push_back(done);
        return;
      }
    }
  }
  posted_.erase(posted_.begin() + static_cast<ptrdiff_t>(index));
  queue.done.push_back(done);
}

inline void Provider::complete(unsigned count) {
  for (; count > 0 && !posted_.empty(); --count) {
    const uint8_t how = input_.take<uint8_t>();
    const size_t index = (how & 0x1f) % posted_.size();
    end(index, (how & 0x80) != 0 ? FI_EIO : 0, (how & 0x40) != 0);
  }
}

inline void Provider::arrive(uint64_t data) {
  fi_cq_err_entry done{};
  done.flags = FI_REMOTE_WRITE | FI_RMA | FI_REMOTE_CQ_DATA;
  done.data = data;
  queue.done.push_back(done);
}

inline void Provider::fillQueueOps() {
  cqOps.size = sizeof(cqOps);
  cqOps.read = [](fid_cq* cq, void* to, size_t count) -> ssize_t {
    auto& done = static_cast<Queue*>(cq->fid.context)->done;
    auto* entries = static_cast<fi_cq_tagged_entry*>(to);
    size_t taken = 0;
    for (; taken < count && !done.empty() && done.front().err == 0; ++taken, done.pop_front()) {
      const fi_cq_err_entry& each = done.front();
      entries[taken] = {each.op_context, each.flags, each.len, each.buf, each.data, each.tag};
    }
    if (taken > 0) return static_cast<ssize_t>(taken);
    return done.empty() ? -FI_EAGAIN : -FI_EAVAIL;
  };
  cqOps.readfrom = [](fid_cq* cq, void* to, size_t count, fi_addr_t* sources) -> ssize_t {
    const ssize_t taken = cq->ops->read(cq, to, count);
    for (ssize_t i = 0; i < taken; ++i) sources[i] = static_cast<fi_addr_t>(i % 3);
    return taken;
  };
  cqOps.readerr = [](fid_cq* cq, fi_cq_err_entry* to, uint64_t) -> ssize_t {
    auto& done = static_cast<Queue*>(cq->fid.context)->done;
    if (done.empty() || done.front().err == 0) return -FI_EAGAIN;
    *to = done.front();
    done.pop_front();
    return 1;
  };
  cqOps.strerror = [](fid_cq*, int, const void*, char*, size_t) -> const char* { return "fuzz"; };
}

}  // namespace fuzz
