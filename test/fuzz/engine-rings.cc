// The memory that JavaScript shares with the engine, with any content: the rings, the control words
// and the entries of batches.
#include "support/rig.h"

using fab::Control;
using fab::OpCode;
using fab::Operation;

namespace {

class Script {
 public:
  explicit Script(fuzz::Input& input) : input_(input), rig_(input) {
    addBatch();
    addBatch();
  }

  void run() {
    while (!input_.empty()) step();
    // The end of a program: posted operations complete, and its objects close.
    for (int i = 0; i < 4; ++i) {
      rig_.engine().turn();
      rig_.provider.completeAll();
      read();
    }
  }

 private:
  fab::Engine& engine() { return rig_.engine(); }
  Control& control() { return engine().control(); }
  Operation* ring() { return reinterpret_cast<Operation*>(engine().submissionBlock()->data()); }

  void step() {
    switch (input_.below(10)) {
      case 0:
      case 1:
        submit(ring(), tail_);
        return control().submissionTail.store(tail_);
      case 2:
        return submit(batches_[input_.below(2)]->shared(), entries_);
      case 3:
        return submitBatch();
      case 4:
        return scribble(engine().submissionBlock());
      case 5:
        return scribble(batches_[input_.below(2)]->block);
      case 6:
        return scribbleControl();
      case 7:
        return rig_.provider.complete(1 + input_.below(8));
      case 8:
        if (input_.flag()) rig_.provider.arrive(input_.take<uint8_t>());
        return static_cast<void>(engine().turn());
      default:
        engine().turn();
        return read();
    }
  }

  uint32_t oneOf(const std::vector<uint32_t>& handles) {
    const uint8_t which = input_.take<uint8_t>();
    if (which < handles.size()) return handles[which];
    return which == 0xff ? input_.take<uint32_t>() : 0;
  }
  double number() {
    const uint8_t kind = input_.take<uint8_t>();
    if (kind <= fuzz::Rig::kBytes) return kind;
    return kind == 0xff ? input_.take<double>() : 0;
  }

  // Writes an operation as JavaScript does, with values from the input. It may state more blocks,
  // segments and pieces than exist.
  void submit(Operation* to, uint32_t& at) {
    Operation o{};
    o.code = static_cast<OpCode>(input_.take<uint8_t>());
    o.blocks = input_.take<uint8_t>();
    o.segments = input_.take<uint8_t>();
    o.remotes = input_.take<uint8_t>();
    o.request = input_.take<uint8_t>();
    o.endpoint = rig_.endpoints[input_.below(2)]->handle;
    o.peer = oneOf(rig_.peers);
    o.memory = oneOf(rig_.memories);
    o.remote = oneOf(rig_.remotes);
    o.offset = number();
    o.length = number();
    o.tag = input_.take<uint8_t>();
    o.data = input_.take<uint64_t>();
    if (input_.flag()) o.flags = input_.take<uint64_t>();
    to[at++ % kEntries] = o;
    const uint32_t written = std::min<uint32_t>(o.blocks, kMostBlocks);
    for (uint32_t i = 0; i < written; ++i) {
      auto* segments = reinterpret_cast<fab::Segment*>(&to[at++ % kEntries]);
      for (uint32_t each = 0; each < fab::kSegmentsPerBlock; ++each) {
        const bool local = i * fab::kSegmentsPerBlock + each < o.segments;
        segments[each].memory = oneOf(local ? rig_.memories : rig_.remotes);
        segments[each].offset = number();
        segments[each].length = number();
      }
    }
  }

  void submitBatch() {
    Operation o{};
    o.code = OpCode::kSubmit;
    o.request = input_.flag() ? fab::kRunRequest : input_.take<uint8_t>();
    o.endpoint = rig_.endpoints[input_.below(2)]->handle;
    o.memory = handles_[input_.below(2)];
    version_ += input_.flag() ? 1 : 0;
    o.offset = version_;
    o.length = std::min(entries_, kEntries);
    o.times = input_.below(4);
    o.every = input_.below(2);
    o.flags = input_.take<uint8_t>();
    if (input_.flag()) {
      control().runEndpoint = o.endpoint;
      control().runBatch = o.memory;
      control().runVersion = o.offset;
      control().runEntries = static_cast<uint32_t>(o.length);
      control().runTimes = o.times;
      return engine().batches.startRun();
    }
    ring()[tail_++ % kEntries] = o;
    control().submissionTail.store(tail_);
  }

  void scribble(const std::shared_ptr<fab::SharedBlock>& block) {
    size_t size = 1 + input_.below(16);
    const size_t at = input_.take<uint16_t>() % (block->size() - 16);
    const uint8_t* const bytes = input_.skip(size);
    if (size > 0) std::memcpy(block->data() + at, bytes, size);
  }

  void scribbleControl() {
    static constexpr size_t kWords[] = {
        offsetof(Control, submissionTail), offsetof(Control, submissionHead),
        offsetof(Control, completionTail), offsetof(Control, completionHead),
        offsetof(Control, pending),        offsetof(Control, runVersion),
        offsetof(Control, runBatch),       offsetof(Control, runEndpoint),
        offsetof(Control, runEntries),     offsetof(Control, runStatus),
        offsetof(Control, runEvery),       offsetof(Control, runTimes),
        offsetof(Control, runSpan),        offsetof(Control, runSamples),
        offsetof(Control, waitCount),      offsetof(Control, stats)};
    const size_t at = kWords[input_.below(std::size(kWords))];
    const auto value = input_.take<uint64_t>();
    std::memcpy(engine().controlBlock()->data() + at, &value, input_.flag() ? 8 : 4);
    const uint8_t then = input_.below(4);
    if (then == 1) engine().batches.startRun();
    if (then == 2) engine().batches.adoptRun(input_.take<uint8_t>());
  }

  // JavaScript's side of the completion ring.
  void read() { control().completionHead.store(control().completionTail.load()); }

  void addBatch() {
    auto batch = std::make_unique<fab::Batch>();
    batch->block = fab::SharedBlock::allocate(kEntries * sizeof(Operation));
    batch->samples = fab::SharedBlock::allocate(kSamples * sizeof(double));
    rig_.provider.forbid(batch->block->data(), batch->block->size());
    batches_.push_back(batch.get());
    handles_.push_back(
        engine().batches.table.insert(std::move(batch), fab::Batches::Table::Handles::kLasting));
  }

  static constexpr uint32_t kEntries = fuzz::Rig::kEntries;
  static constexpr uint32_t kMostBlocks = 4;
  static constexpr size_t kSamples = 512;  // a page

  fuzz::Input& input_;
  fuzz::Rig rig_;
  std::vector<fab::Batch*> batches_;
  std::vector<uint32_t> handles_;
  uint32_t tail_ = 0;
  uint32_t entries_ = 0;  // of both batches
  uint32_t version_ = 0;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  Script(input).run();
  return 0;
}
