#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace fab::net {

// The packets that an endpoint has room for and has promised to no session.
struct Allowance {
  std::atomic<int64_t> free{0};

  bool take(uint32_t packets) {
    if (free.fetch_sub(packets) >= packets) return true;
    free.fetch_add(packets);
    return false;
  }
  void giveBack(uint32_t packets) { free.fetch_add(packets); }
  // Also if too few are free: sessions that end make up for them.
  void takeBack(uint32_t packets) { free.fetch_sub(packets); }
};

// What a session has taken of the room of its endpoints: the same of each, because the peer may
// send all packets to any of them.
class Share {
 public:
  static constexpr uint32_t kMost = 64;  // packets

  explicit Share(uint32_t packets) : first_(packets), packets_(packets) {}
  ~Share() {
    for (const auto& source : sources_) source->giveBack(packets_);
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  uint32_t packets() const { return packets_; }
  // The source has already given what the share has at first.
  void add(std::shared_ptr<Allowance> source) { sources_.push_back(std::move(source)); }
  void remove(const std::shared_ptr<Allowance>& source) {
    const auto found = std::find(sources_.begin(), sources_.end(), source);
    if (found == sources_.end()) return;
    source->giveBack(packets_);
    sources_.erase(found);
  }
  // Doubles the share if all endpoints have room.
  void grow() {
    const uint32_t more = std::min(packets_, kMost - std::min(kMost, packets_));
    if (more == 0 || sources_.empty()) return;
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (sources_[i]->take(more)) continue;
      for (size_t taken = 0; taken < i; ++taken) sources_[taken]->giveBack(more);
      return;
    }
    packets_ += more;
  }
  // Gives back all but the first packets.
  void shrink() {
    for (const auto& source : sources_) source->giveBack(packets_ - first_);
    packets_ = first_;
  }

 private:
  const uint32_t first_;
  uint32_t packets_;
  std::vector<std::shared_ptr<Allowance>> sources_;
};

}  // namespace fab::net
