// The shared segment of a process as a hostile process writes it. This process is both: the owner
// of the segment, and a peer that maps it again.
#include "../../native/softefa/bounce.h"
#include "support/device.h"

using namespace softefa;
using Post = fuzz::Endpoint::Operation;

namespace {

struct Endpoints {
  Endpoints() {
    OwnSegment& segment = Runtime::get().segment();
    for (QueuePairEntry& each : segment.header().queuePairs) {
      if (each.serial != 0 && each.qpn == receiver.qp->qp_num) entry = &each;
    }
    region = RegionView(segment.file(), RegionShape::of(*entry));
  }

  fuzz::Endpoint sender;
  fuzz::Endpoint receiver;
  QueuePairEntry* entry = nullptr;
  RegionView region;  // of the receiver
};

class Script {
 public:
  explicit Script(fuzz::Input& input)
      : input_(input), segment_(Runtime::get().segment()), header_(segment_.header()) {
    std::memset(static_cast<void*>(region_.region), 0, region_.mapping.size());
    receiver_.reset();
    sender_.reset();
  }
  ~Script() {
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
      std::memcpy(change->at, &change->before, change->size);
    }
  }

  void run() {
    while (!input_.empty()) step();
  }

 private:
  struct Change {
    uint8_t* at;
    uint64_t before;
    size_t size;
  };

  void step() {
    constexpr uint32_t kLengths[] = {0, 1, 100, 1024, 1025, 8000, 8928};
    const uint32_t length = kLengths[input_.below(std::size(kLengths))];
    switch (input_.below(8)) {
      case 0:
        return receiver_.receive(length, 7);
      case 1:
        return sender_.post(static_cast<Post>(input_.below(5)), length, *receiver_.qp);
      case 2:
        return static_cast<void>(receiver_.poll());
      case 3:
        return static_cast<void>(sender_.poll());
      case 4:
        return serveBounces(segment_);
      case 5:
        return receiver_.move(IBV_QPS_ERR);  // flushes
      default:
        return scribble();
    }
  }

  void scribble() {
    switch (input_.below(9)) {
      case 0:
        return change(region_.region, sizeof(ReceiveRegion), false);
      case 1:
        return change(&region_.receive(input_.below(fuzz::kDepth)), sizeof(RqEntry), false);
      case 2:
        return change(&region_.arrival(input_.below(2 * fuzz::kDepth)), sizeof(Arrival), false);
      case 3:
        return change(&region_.cells[input_.below(fuzz::kDepth)], sizeof(uint64_t), false);
      case 4:
        return change(entry_, sizeof(QueuePairEntry), true);
      case 5:
        return change(&segment_.memory()[fuzz::Device::get().mr->lkey & 0xffff], sizeof(MrEntry),
                      true);
      case 6:
        return change(&header_.bounce[input_.below(kBounceSlots)], sizeof(BounceSlot), true);
      case 7:
        return change(&header_.links[input_.below(2)], sizeof(Link), true);
      default:
        return scribbleIdentity();
    }
  }

  // Writes into the fields that describe the process, or into one of its visitors.
  void scribbleIdentity() {
    switch (input_.below(6)) {
      case 0:
        return change(&header_.pid, sizeof(header_.pid), true);
      case 1:
        return change(&header_.node, sizeof(header_.node), true);
      case 2:
        return change(&header_.nics, sizeof(header_.nics), true);
      case 3:
        return change(&header_.rate, sizeof(header_.rate), true);
      case 4:
        return change(&header_.visitors[input_.below(4)].tenancy, sizeof(uint32_t), true);
      default:
        return change(&header_.doorbellPolls, sizeof(uint32_t), true);
    }
  }

  // Writes up to 8 bytes. `undo`: the next execution does not write them.
  void change(void* to, size_t size, bool undo) {
    const size_t length = size_t{1} << input_.below(4);
    if (length > size) return;
    const size_t at = input_.take<uint8_t>() % (size - length + 1);
    const auto value = input_.take<uint64_t>();
    auto* const bytes = static_cast<uint8_t*>(to) + at;
    if (undo) {
      changes_.push_back({bytes, 0, length});
      std::memcpy(&changes_.back().before, bytes, length);
    }
    std::memcpy(bytes, &value, length);
  }

  fuzz::Input& input_;
  OwnSegment& segment_;
  SegmentHeader& header_;
  Endpoints& endpoints_ = fuzz::lasting<Endpoints>();
  fuzz::Endpoint& sender_ = endpoints_.sender;
  fuzz::Endpoint& receiver_ = endpoints_.receiver;
  QueuePairEntry* const entry_ = endpoints_.entry;
  RegionView& region_ = endpoints_.region;
  std::vector<Change> changes_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Device::get();
  fuzz::Input input(data, size);
  Script(input).run();
  return 0;
}
