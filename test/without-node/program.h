#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../../native/engine/endpoint.h"
#include "../../native/engine/memory_region.h"
#include "../../native/objects/domain.h"
#include "environment.h"

// A domain as JavaScript uses it: through the rings, and with the calls that run on its thread or
// in libuv's threads. All functions run on the thread of the environment, except where noted.

namespace without_node {

// kBusyPoll: a thread, and the event loop after completions.
enum class Kind { kThread, kBusyPoll, kLoop, kManual };

struct Bytes {
  explicit Bytes(size_t size) : data(new uint8_t[size]()), length(size) {}
  std::shared_ptr<uint8_t[]> data;
  size_t length;
};

class Program {
 public:
  using Done = std::function<void(const fab::Completion&)>;

  // `thread`: of another program, or null.
  Program(Environment& environment, const std::string& provider, Kind kind,
          std::shared_ptr<fab::PollThread> thread = nullptr);
  // Ends the domain, and waits until nothing uses it any more.
  ~Program();
  Program(const Program&) = delete;
  // Ends the domain without waiting for its other owners.
  void end();

  struct End {
    std::shared_ptr<fab::Endpoint> endpoint;
    std::vector<uint8_t> address;
  };
  End openEndpoint();
  uint32_t insert(const End& from, const std::vector<uint8_t>& address);
  uint32_t adopt(const Bytes& bytes);
  void forget(uint32_t memory);
  // Registers memory; any thread may call it.
  std::shared_ptr<fab::MemoryRegion> registerMemory(const Bytes& bytes, uint64_t access);
  // Returns null if the domain has closed.
  static std::shared_ptr<fab::MemoryRegion> registerIn(const std::shared_ptr<fab::Domain>& domain,
                                                       const Bytes& bytes, uint64_t access);
  uint32_t addRemote(const fab::MemoryRegion& region);

  // Submits an operation. `done` is called with its completion.
  uint32_t submit(fab::Operation operation, Done done);
  void submitQuietly(fab::Operation operation);
  void cancel(uint32_t request);
  // Closes an endpoint, and waits for that.
  void close(const End& end);
  // Turns the engine if no driver does, and reads completions.
  void step();
  void runUntil(const char* what, const std::function<bool()>& condition);

  fab::Engine& engine() const { return domain->engine(); }
  Environment& environment;
  const Kind kind;
  const bool sharesMemory;
  const bool waits;  // its queues have a descriptor to wait for
  std::shared_ptr<fi_info> info;
  std::shared_ptr<fab::Fabric> fabric;
  std::shared_ptr<fab::Domain> domain;
  std::string lastError;  // the text of the last completion in error

 private:
  static constexpr uint32_t kEntries = 64;  // so that the rings fill

  std::shared_ptr<fab::Driver> makeDriver(std::shared_ptr<fab::PollThread> thread);
  void write(const fab::Operation& operation);
  void read();

  std::weak_ptr<fab::Domain> ended_;
  std::vector<Done> requests_;
  std::vector<uint32_t> free_;
  uint32_t pending_ = 0;
  uint32_t tail_ = 0;
  uint32_t head_ = 0;
  bool reading_ = false;
};

}  // namespace without_node
