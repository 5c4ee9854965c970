#include "transfer.h"

#include <algorithm>

#include "transfer_engine.h"

namespace fab::transfer {

namespace {

// A slice that fails this often fails the transfer.
constexpr uint8_t kMaxFailures = 20;

uint32_t microseconds(Clock::duration duration) {
  const auto count = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  return static_cast<uint32_t>(std::clamp<int64_t>(count, 0, UINT32_MAX - 1));
}

}  // namespace

Transfer::Transfer(std::shared_ptr<TransferEngine> owner, uint32_t identity, size_t rails,
                   Order what)
    : id(identity),
      order(std::move(what)),
      remotes(rails, std::vector<uint32_t>(order.targets.size(), 0)),
      owner_(std::move(owner)),
      start_(Clock::now()),
      done_((total() + 63) / 64),
      late_(done_.size()),
      begunAt_(total()),
      took_(total()),
      failures_(total()),
      shares_(rails) {}

Transfer::~Transfer() { owner_->forget(std::move(remotes)); }

void Transfer::restart(uint32_t identity) {
  const auto clear = [](auto& values) {
    for (auto& value : values) value.store(0, std::memory_order_relaxed);
  };
  id = identity;
  round_ = 1 - round_;
  clear(done_);
  clear(late_);
  clear(begunAt_);
  clear(took_);
  clear(failures_);
  for (RailShare& share : shares_) {
    share.bytes = 0;
    share.slices = share.repeats = share.retries = share.failures = 0;
  }
  again_.clear();
  returned_ = 0;
  bytesDone_ = 0;
  leading_ = 0;
  leadingBytes_ = 0;
  copies_ = 0;
  doneCount_ = 0;
  lastBegun_ = 0;
  holds_ = 1;
  reported_ = released_ = freed_ = measured_ = false;
  start_ = Clock::now();
  next_ = 0;
  outcome_ = kRunning;
}

bool Transfer::beginCopies() {
  copying_ = Copying::begin(order.mapping, order.serial);
  return copying_ != nullptr;
}

uint32_t Transfer::take() {
  if (!running()) return kNone;
  // The hold comes first, so that the transfer cannot become free between the check and the post.
  if (!hasSlices()) return kNone;
  holds_.fetch_add(1);
  if (running()) {
    if (returned_.load() > 0) {
      const std::lock_guard<std::mutex> lock(mutex_);
      while (!again_.empty()) {
        const uint32_t slice = again_.back();
        again_.pop_back();
        returned_.fetch_sub(1);
        if (!isDone(slice)) return slice;
      }
    }
    if (next_.load(std::memory_order_relaxed) < total()) {
      const uint32_t slice = next_.fetch_add(1);
      if (slice < total()) return slice;
    }
  }
  release();
  return kNone;
}

uint32_t Transfer::takeLate(Clock::duration age, Clock::time_point now) {
  if (!running()) return kNone;
  const uint32_t latest = microseconds(now - start_ - std::min(age, now - start_));
  for (size_t word = 0; word < done_.size(); ++word) {
    if (~(done_[word].load() | late_[word].load()) == 0) continue;
    const auto end = std::min<uint32_t>(total(), static_cast<uint32_t>(word + 1) * 64);
    for (auto slice = static_cast<uint32_t>(word * 64); slice < end; ++slice) {
      const uint32_t begun = begunAt_[slice].load(std::memory_order_relaxed);
      if (isDone(slice) || begun == 0 || begun > latest) continue;
      if ((late_[word].fetch_or(bitOf(slice)) & bitOf(slice)) != 0) continue;
      holds_.fetch_add(1);
      if (running()) return slice;
      release();
      return kNone;
    }
  }
  return kNone;
}

void Transfer::giveBack(uint32_t slice) {
  const std::lock_guard<std::mutex> lock(mutex_);
  again_.push_back(slice);
  returned_.fetch_add(1);
}

void Transfer::began(uint32_t slice, Clock::time_point now) {
  copies_.fetch_add(1, std::memory_order_relaxed);
  const uint32_t since = microseconds(now - start_);
  begunAt_[slice].store(since + 1, std::memory_order_relaxed);
  lastBegun_.store(since, std::memory_order_relaxed);
}

void Transfer::arrived(uint32_t slice, size_t rail, Clock::duration took) {
  RailShare& share = shares_[rail];
  if ((done_[slice / 64].fetch_or(bitOf(slice)) & bitOf(slice)) != 0) {
    share.repeats.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const uint32_t length = at(slice).length;
  share.bytes.fetch_add(length, std::memory_order_relaxed);
  share.slices.fetch_add(1, std::memory_order_relaxed);
  took_[slice].store(microseconds(took), std::memory_order_relaxed);
  bytesDone_.fetch_add(length, std::memory_order_relaxed);
  lastRail_.store(rail, std::memory_order_relaxed);
  if (doneCount_.fetch_add(1) + 1 < total()) {
    if (isWatched_.load() && isWatched_.exchange(false)) owner_->moved(*this);
    return;
  }
  uint32_t running = kRunning;
  if (!outcome_.compare_exchange_strong(running, 0)) return;
  end_ = Clock::now();
  // Holds: the transfer's own, and that of the copy that has just arrived.
  if (holds_.load() > 2 && !reported_.exchange(true)) owner_->ended(*this);
  release();
}

uint64_t Transfer::leadingBytes() {
  isWatched_ = true;
  while (leading_ < total() && isDone(leading_)) leadingBytes_ += at(leading_++).length;
  return leadingBytes_;
}

bool Transfer::mayRetry(uint32_t slice) { return failures_[slice].fetch_add(1) + 1 < kMaxFailures; }

void Transfer::release() {
  if (holds_.fetch_sub(1) == 1) free();
}

// Called when no copy is in flight any more.
void Transfer::free() {
  if (freed_.exchange(true)) return;  // take() has held the ended transfer once more
  copying_.reset();
  quantiles_ = quantilesSoFar();
  measured_ = true;
  owner_->finished(*this);
  const bool ends = !reported_.exchange(true);
  const bool releases = !released_.exchange(true);
  owner_->freed(*this, ends, releases);
  if (!order.repeats) owner_->forget(std::move(remotes));
}

void Transfer::fail(uint32_t status, std::string text) {
  uint32_t running = kRunning;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!outcome_.compare_exchange_strong(running, status)) return;
    text_ = std::move(text);
  }
  end_ = Clock::now();
  if (holds_.load() > 1 && !reported_.exchange(true)) owner_->ended(*this);
  release();
}

void Transfer::withdrawn() {
  // A copy into mapped memory continues, even if the peer has withdrawn the memory.
  if (running() || order.direction == Direction::kRead || order.mapping) return;
  const bool ends = !reported_.exchange(true);
  owner_->report(*this, ends, !released_.exchange(true));
}

void Transfer::abandoned() {
  if (running()) return;
  const bool ends = !reported_.exchange(true);
  owner_->report(*this, ends, !released_.exchange(true));
}

std::string Transfer::text() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return text_;
}

std::array<uint32_t, 2> Transfer::quantilesSoFar() const {
  std::vector<uint32_t> times;
  times.reserve(took_.size());
  for (uint32_t slice = 0; slice < total(); ++slice) {
    if (isDone(slice)) times.push_back(took_[slice].load(std::memory_order_relaxed));
  }
  if (times.empty()) return {0, 0};
  const auto at = [&](size_t index) {
    std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(index), times.end());
    return times[index];
  };
  return {at(times.size() / 2), at(times.size() * 99 / 100)};
}

}  // namespace fab::transfer
