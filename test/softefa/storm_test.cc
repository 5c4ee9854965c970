#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "container.h"
#include "verbs.h"

using namespace verbs;
namespace fs = std::filesystem;

// Many processes on two nodes, some of which are killed at random times.

namespace {

constexpr int kProcesses = 20;
constexpr int kKills = 50;
// Killed together: most of the time, a killed process waits for a core to end on.
constexpr int kAtOnce = 5;
constexpr uint64_t kRounds = 100;
constexpr size_t kSize = 3 * 4096;

struct Target {
  Address address;
  Remote memory;
};

struct Task {
  Target target;
  uint64_t rounds;  // the process notifies its parent after this many
};

// Writes and sends to another process repeatedly. Its operations must complete whatever happens to
// that process. Ends when its parent asks for it.
void exchange(harness::Side& parent, int node) {
  ::setenv("SOFTEFA_NODE", std::to_string(node).c_str(), 1);
  Device device;
  Endpoint endpoint(device);
  Buffer memory(device, kSize), source(device, kSize), messages(device, 64);
  for (int i = 0; i < 32; ++i) CHECK_EQ(endpoint.receive({messages.all()}), 0);
  parent.put(Target{endpoint.address(), memory.remote()});
  const auto [target, rounds] = parent.get<Task>();
  parent.put(true);
  // The threads that kill and start processes get a core first, because twenty spinning processes
  // leave little CPU time.
  CHECK_EQ(::setpriority(PRIO_PROCESS, 0, 10), 0);
  for (uint64_t round = 0; !parent.ready(); ++round) {
    const bool sends = round % 4 == 0;
    const int error = sends ? endpoint.send(target.address, {source.sge(0, 64)}, round)
                            : endpoint.write(target.address, source.all(), target.memory, round);
    CHECK_EQ(error, 0);
    for (bool done = false; !done;) {
      const Result result = endpoint.next();
      done = result.opcode != IBV_WC_RECV;
      if (!done) CHECK_EQ(endpoint.receive({messages.all()}), 0);
    }
    if (round == rounds) parent.put(true);
  }
}

class Storm {
 public:
  Storm() : random_(7), sides_(kProcesses), targets_(kProcesses) {
    for (int i = 0; i < kProcesses; ++i) start(i);
    for (int i = 0; i < kProcesses; ++i) acquaint(i);
  }
  // Kills some processes and starts others in their places.
  void killSome() {
    std::vector<int> all(kProcesses), victims;
    std::iota(all.begin(), all.end(), 0);
    std::sample(all.begin(), all.end(), std::back_inserter(victims), kAtOnce, random_);
    for (int victim : victims) sides_[victim]->get<bool>();  // it has done its rounds, and goes on
    for (int victim : victims) sides_[victim]->kill();
    for (int victim : victims) sides_[victim]->join(SIGKILL);
    for (int victim : victims) start(victim);
    for (int victim : victims) acquaint(victim);
  }
  void end() {
    for (auto& side : sides_) side->put(true);
    for (auto& side : sides_) side->join();
  }

 private:
  // If permitted, every second process is the first one of a container.
  void start(int i) {
    const auto body = [i](harness::Side& parent) { exchange(parent, i / 2 % 2); };
    if (i % 2 == 0) sides_[i] = harness::inContainer(body);
    if (!sides_[i] || i % 2 != 0) sides_[i] = std::make_unique<harness::Side>(body);
    targets_[i] = sides_[i]->get<Target>();
  }
  void acquaint(int i) {
    const Target& target = targets_[(i + 1 + random_() % (kProcesses - 1)) % kProcesses];
    sides_[i]->put(Task{target, random_() % kRounds});
    sides_[i]->get<bool>();
  }

  std::mt19937 random_;
  std::vector<std::unique_ptr<harness::Side>> sides_;
  std::vector<Target> targets_;
};

}  // namespace

TEST(storm_of_50_kills_among_20_processes_on_2_nodes_leaves_no_files) {
  for (int run = 0; run < 2; ++run) {
    Storm storm;
    for (int killed = 0; killed < kKills / 2; killed += kAtOnce) storm.killSome();
    storm.end();
    CHECK(!fs::exists(folder()));
  }
}
