// softefa does not export lifelines.
#include "../../native/softefa/lifeline.cc"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <random>

#include "harness.h"

using softefa::Lifeline;
using softefa::Lifelines;

TEST(lifeline_of_a_process_killed_while_it_acquires_or_releases_it) {
  constexpr size_t kLifelines = 3;
  void* const memory =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  auto* const lifelines = static_cast<Lifeline*>(memory);
  for (size_t i = 0; i < kLifelines; ++i) new (lifelines + i) Lifeline();
  std::mt19937 random(1);
  for (int kills = 0; kills < 300; ++kills) {
    harness::Side victim([&](harness::Side& parent) {
      Lifelines::get().adopt();
      parent.put(true);
      for (;;) {
        for (size_t i = 0; i < kLifelines; ++i) CHECK(Lifelines::get().acquire(lifelines[i]));
        for (size_t i = 0; i < kLifelines; ++i) Lifelines::get().untie(lifelines[i]);
      }
    });
    victim.get<bool>();
    ::usleep(random() % 200);
    victim.kill();
    victim.join(SIGKILL);
    for (size_t i = 0; i < kLifelines; ++i) CHECK(!lifelines[i].alive());
  }
}
