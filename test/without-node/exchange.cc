// Messages and writes between two endpoints, with everything that may run at the same time: buffers
// that are opened and closed, registrations on other threads, cancelled receives, and holds.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "programs.h"

using fab::Completion;
using fab::Hold;
using fab::OpCode;
using fab::Operation;

namespace without_node {

namespace {

constexpr std::array<size_t, 5> kLengths = {0, 8, 190, 5000, 100'000};

class Exchange {
 public:
  Exchange(Program& left, Program& right)
      : left_(left), right_(right), a_(left.openEndpoint()), b_(right.openEndpoint()) {
    toB_ = left_.insert(a_, b_.address);
    toA_ = right_.insert(b_, a_.address);
  }
  ~Exchange() {
    left_.close(a_);
    right_.close(b_);
  }

  void round(unsigned number) {
    window(kLengths[number % kLengths.size()], 1 + number % 100);
    if (number % 3 == 0) cancelled();
    if (number % 4 == 0) written();
    if (number % 5 == 0) look();
  }

 private:
  bool settle(unsigned& left) {
    if (right_.kind == Kind::kManual) right_.step();
    return left == 0;
  }

  // Several messages at once, with the bytes compared.
  void window(size_t length, unsigned count) {
    struct Message {
      Bytes from;
      Bytes into;
    };
    std::vector<Message> messages;
    std::vector<uint32_t> memories[2];
    unsigned left = 0;
    for (unsigned i = 0; i < count; ++i) {
      messages.push_back({Bytes(std::max<size_t>(length, 1)), Bytes(std::max<size_t>(length, 1))});
      const auto& [from, into] = messages.back();
      std::iota(from.data.get(), from.data.get() + from.length, static_cast<uint8_t>(i));
      left += 2;
      Operation receive = operation(OpCode::kRecv, b_, 0, right_.adopt(into), length);
      memories[1].push_back(receive.memory);
      right_.submit(receive, [&](const Completion& c) { succeeded(right_, c, left); });
      Operation send = operation(OpCode::kSend, a_, toB_, left_.adopt(from), length);
      memories[0].push_back(send.memory);
      left_.submit(send, [&](const Completion& c) { succeeded(left_, c, left); });
    }
    left_.runUntil("messages do not arrive", [&] { return settle(left); });
    for (const auto& [from, into] : messages) {
      CLAIM(std::equal(from.data.get(), from.data.get() + length, into.data.get()));
    }
    for (const uint32_t memory : memories[0]) left_.forget(memory);
    for (const uint32_t memory : memories[1]) right_.forget(memory);
  }

  static void succeeded(const Program& program, const Completion& completion, unsigned& left) {
    if (completion.status != 0) {
      fail(__FILE__, __LINE__,
           fi_strerror(static_cast<int>(completion.status)) + (": " + program.lastError));
    }
    --left;
  }

  // A receive that gets no message.
  void cancelled() {
    const Bytes into(64);
    const uint32_t memory = left_.adopt(into);
    unsigned left = 1;
    const uint32_t request =
        left_.submit(operation(OpCode::kRecv, a_, 0, memory, 64), [&](const Completion& c) {
          CLAIM(c.status == FI_ECANCELED);
          --left;
        });
    left_.cancel(request);
    left_.runUntil("a receive is not cancelled", [&] { return settle(left); });
    left_.forget(memory);
  }

  // A write to memory that another thread registers, as libuv's threads do, and that is closed
  // after the write.
  void written() {
    constexpr size_t kLength = 30'000;
    const Bytes from(kLength);
    const Bytes into(kLength);
    std::fill_n(from.data.get(), kLength, uint8_t{9});
    std::shared_ptr<fab::MemoryRegion> region;
    std::thread registering(
        [&] { region = right_.registerMemory(into, FI_REMOTE_WRITE | FI_REMOTE_READ); });
    look();
    registering.join();
    const uint32_t remote = left_.addRemote(*region);
    const uint32_t memory = left_.adopt(from);
    unsigned left = 1;
    Operation write = operation(OpCode::kWrite, a_, toB_, memory, kLength);
    write.remote = remote;
    // Otherwise the write may complete before it arrives, and the memory would be closed: tcp then
    // ends the connection.
    write.flags = FI_DELIVERY_COMPLETE;
    left_.submit(write, [&](const Completion& c) { succeeded(left_, c, left); });
    left_.runUntil("a write does not end", [&] { return settle(left); });
    Operation close{};
    close.code = OpCode::kCloseMemory;
    close.memory = region->handle;
    unsigned closing = 1;
    right_.submit(close, [&](const Completion&) { --closing; });
    left_.runUntil("memory does not close", [&] { return settle(closing); });
    left_.engine().defer([&engine = left_.engine(), remote] { engine.remotes.erase(remote); });
    left_.forget(memory);
  }

  // Like dumpState().
  void look() {
    const Hold hold(left_.engine());
    size_t open = 0;
    left_.engine().endpoints.forEach(
        [&](uint32_t, const fab::Endpoint* endpoint) { open += endpoint->inFlight + 1; });
    CLAIM(open > 0);
  }

  static Operation operation(OpCode code, const Program::End& end, uint32_t peer, uint32_t memory,
                             size_t length) {
    Operation made{};
    made.code = code;
    made.endpoint = end.endpoint->handle;
    made.peer = peer;
    made.memory = memory;
    made.length = static_cast<double>(length);
    return made;
  }

  Program& left_;
  Program& right_;
  const Program::End a_;
  const Program::End b_;
  uint32_t toB_ = 0;
  uint32_t toA_ = 0;
};

}  // namespace

void exchangeInOne(const std::string& provider, Kind kind, unsigned rounds) {
  Environment environment;
  Program program(environment, provider, kind);
  Exchange exchange(program, program);
  for (unsigned i = 0; i < rounds; ++i) exchange.round(i);
}

void exchangeBetweenTwo(const std::string& provider, Kind kind, bool sameThread, unsigned rounds) {
  Environment environment;
  Program left(environment, provider, kind);
  Program right(environment, provider, kind, sameThread ? left.domain->driver().thread() : nullptr);
  Exchange exchange(left, right);
  for (unsigned i = 0; i < rounds; ++i) exchange.round(i);
}

void endWhileRegistering(const std::string& provider, Kind kind, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) {
    Environment environment;
    Program program(environment, provider, kind);
    program.openEndpoint();
    const Bytes bytes(4096);
    std::atomic<bool> begun{false};
    std::thread registering([&begun, &bytes, domain = program.domain] {
      while (Program::registerIn(domain, bytes, FI_SEND)) begun = true;
    });
    while (!begun) std::this_thread::yield();
    program.end();
    registering.join();
  }
}

}  // namespace without_node
