// The engine with every driver in several threads at a time, as workers use it, without Node.js.
// Built with ThreadSanitizer: `npm run test:tsan`. Arguments: rounds of each program, and a part of
// the names of those to run.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "programs.h"

using namespace tsan;

int main(int count, char** arguments) {
  const unsigned rounds = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 40;
  // An endpoint of shm reaches others of its process without their doing: only tcp has two domains.
  const std::vector<std::pair<const char*, std::function<void()>>> programs = {
      {"tcp, thread", [&] { exchangeInOne("tcp", Kind::kThread, rounds); }},
      {"tcp, loop", [&] { exchangeInOne("tcp", Kind::kLoop, rounds); }},
      {"tcp, manual", [&] { exchangeInOne("tcp", Kind::kManual, rounds); }},
      {"shm, thread", [&] { exchangeInOne("shm", Kind::kThread, rounds); }},
      {"shm, loop", [&] { exchangeInOne("shm", Kind::kLoop, rounds); }},
      {"tcp, two threads", [&] { exchangeBetweenTwo("tcp", Kind::kThread, false, rounds); }},
      {"tcp, one thread for two", [&] { exchangeBetweenTwo("tcp", Kind::kThread, true, rounds); }},
      {"shm, two threads", [&] { exchangeBetweenTwo("shm", Kind::kThread, false, rounds); }},
      {"transfers, a thread each", [&] { transfers("tcp", false, rounds); }},
      {"transfers, one thread", [&] { transfers("tcp", true, rounds); }},
  };
  std::vector<std::thread> threads;
  for (const auto& [name, program] : programs) {
    if (count > 2 && std::strstr(name, arguments[2]) == nullptr) continue;
    threads.emplace_back([name = name, run = program] {
      run();
      std::printf("passed: %s\n", name);
      std::fflush(stdout);
    });
  }
  for (auto& each : threads) each.join();
  return 0;
}
