#include "controller.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>
#include <vector>

#include "forks.h"
#include "namespace.h"

namespace softefa {
namespace {

struct Controller {
  std::unique_ptr<Namespace> space;
  unsigned depth = forkDepth();

  void leave() {
    if (depth == forkDepth()) space->leave();
  }
};

struct Controllers {
  std::mutex mutex;
  std::vector<Controller> entered;
};

void leaveAll();

Controllers& controllers() {
  // Never destroyed, because it is used while the process exits.
  static Controllers& all = *[] {
    auto made = std::make_unique<Controllers>();
    std::atexit(leaveAll);
    return made.release();
  }();
  return all;
}

void leaveAll() {
  Controllers& all = controllers();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (Controller& controller : all.entered) controller.leave();
  all.entered.clear();
}

void explain(const std::exception& failure, char* text, size_t size) {
  std::snprintf(text, size, "%s", failure.what());
}

}  // namespace
}  // namespace softefa

using namespace softefa;

SOFTEFA_EXPORT void* softefa_enter(const char* directory, const char* name, char* failure,
                                   size_t size) {
  try {
    auto space = std::make_unique<Namespace>(Namespace::Place{directory, name}, false);
    Controllers& all = controllers();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.entered.push_back({std::move(space)});
    return all.entered.back().space.get();
  } catch (const std::exception& error) {
    explain(error, failure, size);
    return nullptr;
  }
}

SOFTEFA_EXPORT const char* softefa_folder(void* space) {
  return static_cast<Namespace*>(space)->path().c_str();
}

SOFTEFA_EXPORT void softefa_leave(void* space) {
  Controllers& all = controllers();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (auto entered = all.entered.begin(); entered != all.entered.end(); ++entered) {
    if (entered->space.get() != space) continue;
    entered->leave();
    all.entered.erase(entered);
    return;
  }
}

SOFTEFA_EXPORT int softefa_remove(const char* directory, const char* name, char* failure,
                                  size_t size) {
  try {
    return static_cast<int>(Namespace::remove({directory, name}));
  } catch (const std::exception& error) {
    explain(error, failure, size);
    return -1;
  }
}
