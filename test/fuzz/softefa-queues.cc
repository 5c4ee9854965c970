// The queues that the user of a device fills and reads itself: work requests, receives and
// doorbells of any content.
#include "../../native/softefa/descriptors.h"
#include "support/device.h"

using namespace softefa;

namespace {

class Script {
 public:
  explicit Script(fuzz::Input& input)
      : input_(input),
        rings_(endpoint_.device().makeRings()),
        completions_(CompletionQueue::of(endpoint_.cq).makeRing()) {
    endpoint_.reset();
  }

  void run() {
    while (!input_.empty()) step();
  }

 private:
  void step() {
    switch (input_.below(6)) {
      case 0:
        return send();
      case 1:
        return receive();
      case 2:
        return rings_.send.doorbell().store(bell());
      case 3:
        return rings_.receive.doorbell().store(bell());
      case 4:
        return completions_.doorbell().store(input_.take<uint32_t>());
      default:
        return turn();
    }
  }

  // Usually a small step.
  uint32_t bell() {
    const uint32_t value = input_.take<uint16_t>();
    return value < 64 ? value : input_.take<uint32_t>();
  }

  void turn() {
    uint64_t due = UINT64_MAX;
    QueuePair& device = endpoint_.device();
    device.fetch();
    device.turn(due);
    device.collect();
    CompletionQueue::of(endpoint_.cq).serve();
  }

  // A work request to the endpoint itself, with changed bytes.
  void send() {
    const fuzz::Device& device = fuzz::Device::get();
    const auto address = reinterpret_cast<uint64_t>(device.memory.data());
    const uint32_t at = input_.below(fuzz::kDepth);
    SendDescriptor descriptor{};
    descriptor.head.requestId = static_cast<uint16_t>(at);
    descriptor.head.kind = input_.take<uint8_t>() ^ 0x80;  // a head
    descriptor.head.flow = input_.take<uint8_t>() ^ 0x1c;  // first, last and signaled
    descriptor.head.remoteQpn = static_cast<uint16_t>(endpoint_.qp->qp_num);
    descriptor.head.length = input_.take<uint8_t>();
    descriptor.head.qkey = fuzz::kQkey;
    const SendSegment segment{input_.take<uint16_t>(), device.mr->lkey,
                              static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32)};
    descriptor.body.segments[0] = descriptor.body.segments[1] = segment;
    if (input_.flag()) descriptor.body.segments[0].key = device.mr->rkey;
    change(&descriptor, sizeof(descriptor));
    std::memcpy(rings_.send.buffer() + size_t{at} * rings_.send.entrySize(), &descriptor,
                rings_.send.entrySize());
  }

  void receive() {
    const fuzz::Device& device = fuzz::Device::get();
    const auto address = reinterpret_cast<uint64_t>(device.memory.data());
    const uint32_t at = input_.take<uint8_t>() % rings_.receive.entries();
    ReceiveDescriptor descriptor{};
    descriptor.addressLow = static_cast<uint32_t>(address);
    descriptor.addressHigh = static_cast<uint32_t>(address >> 32);
    descriptor.requestId = static_cast<uint16_t>(at);
    descriptor.length = input_.take<uint16_t>();
    descriptor.control = device.mr->lkey | uint32_t{input_.take<uint8_t>()} << 24;
    change(&descriptor, sizeof(descriptor));
    std::memcpy(rings_.receive.buffer() + size_t{at} * sizeof(descriptor), &descriptor,
                sizeof(descriptor));
  }

  void change(void* bytes, size_t size) {
    for (uint32_t count = input_.below(4); count > 0; --count) {
      const size_t at = input_.take<uint8_t>() % size;
      static_cast<uint8_t*>(bytes)[at] = input_.take<uint8_t>();
    }
  }

  fuzz::Input& input_;
  fuzz::Endpoint& endpoint_ = fuzz::lasting<fuzz::Endpoint>();
  WorkRings& rings_;
  CompletionRing& completions_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Device::get();
  fuzz::Input input(data, size);
  Script(input).run();
  return 0;
}
