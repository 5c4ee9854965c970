// The engine with every driver in several threads at a time, as workers use it, without Node.js.
// `npm run suite -- engine` and `npm run suite -- valgrind`. Arguments: rounds of each program,
// "efa" or "others", which programs to run, and a part of their names.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "programs.h"

using namespace without_node;

int main(int count, char** arguments) {
  const unsigned rounds = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 40;
  const std::vector<std::pair<const char*, std::function<void()>>> programs = {
      {"tcp, thread", [&] { exchangeInOne("tcp", Kind::kThread, rounds); }},
      {"tcp, busyPoll", [&] { exchangeInOne("tcp", Kind::kBusyPoll, rounds); }},
      {"tcp, loop", [&] { exchangeInOne("tcp", Kind::kLoop, rounds); }},
      {"tcp, manual", [&] { exchangeInOne("tcp", Kind::kManual, rounds); }},
      {"shm, thread", [&] { exchangeInOne("shm", Kind::kThread, rounds); }},
      {"shm, busyPoll", [&] { exchangeInOne("shm", Kind::kBusyPoll, rounds); }},
      {"shm, loop", [&] { exchangeInOne("shm", Kind::kLoop, rounds); }},
      {"tcp, two threads", [&] { exchangeBetweenTwo("tcp", Kind::kThread, false, rounds); }},
      {"tcp, one thread for two", [&] { exchangeBetweenTwo("tcp", Kind::kThread, true, rounds); }},
      {"shm, one thread for two, busyPoll",
       [&] { exchangeBetweenTwo("shm", Kind::kBusyPoll, true, rounds); }},
      {"shm, two threads", [&] { exchangeBetweenTwo("shm", Kind::kThread, false, rounds); }},
      {"efa, thread", [&] { exchangeInOne("efa", Kind::kThread, rounds); }},
      {"efa, busyPoll", [&] { exchangeInOne("efa", Kind::kBusyPoll, rounds); }},
      {"efa, loop", [&] { exchangeInOne("efa", Kind::kLoop, rounds); }},
      {"efa, manual", [&] { exchangeInOne("efa", Kind::kManual, rounds); }},
      {"efa, two threads", [&] { exchangeBetweenTwo("efa", Kind::kThread, false, rounds); }},
      {"efa, one thread for two", [&] { exchangeBetweenTwo("efa", Kind::kThread, true, rounds); }},
      {"tcp, end, busyPoll", [&] { endWhileRegistering("tcp", Kind::kBusyPoll, rounds); }},
      {"tcp, end", [&] { endWhileRegistering("tcp", Kind::kThread, rounds); }},
      {"shm, end", [&] { endWhileRegistering("shm", Kind::kLoop, rounds); }},
      {"efa, end", [&] { endWhileRegistering("efa", Kind::kLoop, rounds); }},
      {"transfers, a thread each", [&] { transfers("tcp", false, rounds); }},
      {"transfers, one thread", [&] { transfers("tcp", true, rounds); }},
      {"sockets, tcp", [&] { sockets("tcp", Kind::kThread, false, rounds); }},
      {"sockets, shm", [&] { sockets("shm", Kind::kThread, true, rounds); }},
      {"sockets, shm, busyPoll", [&] { sockets("shm", Kind::kBusyPoll, true, rounds); }},
      {"efa, sockets", [&] { sockets("efa", Kind::kBusyPoll, true, rounds); }},
      {"fake, batches", batches},
      {"fake, closings", closings},
      {"fake, receives", receives},
  };
  std::vector<std::thread> threads;
  for (const auto& [name, program] : programs) {
    const bool ofEfa = std::strncmp(name, "efa", 3) == 0;
    if (count > 2 && ofEfa != (std::strcmp(arguments[2], "efa") == 0)) continue;
    if (count > 3 && std::strstr(name, arguments[3]) == nullptr) continue;
    threads.emplace_back([name = name, run = program] {
      run();
      std::printf("passed: %s\n", name);
      std::fflush(stdout);
    });
  }
  for (auto& each : threads) each.join();
  return 0;
}
