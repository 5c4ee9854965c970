#include "exit_registry.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "../providers/skip_destructors.h"
#include "domain.h"

namespace fab {

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<Domain>> domains;
};

void shutdownAll(int status, void*);

// Never destroyed, because it is used while static objects are destroyed.
Registry& registry() {
  static Registry& instance = [&]() -> Registry& {
    on_exit(shutdownAll, nullptr);
    return *std::make_unique<Registry>().release();
  }();
  return instance;
}

void shutdownAll(int status, void*) {
  const auto domains = openDomains();
  for (const auto& domain : domains) domain->driver().requestStop();
  for (const auto& domain : domains) domain->stop();
  for (const auto& domain : domains) domain->shutdown();
  if (!skipsDestructorsAtExit()) return;
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace

void shutdownAtExit(const std::shared_ptr<Domain>& domain) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().domains.push_back(domain);
}

void stopDriversOf(napi_env env) {
  const auto domains = openDomains();
  for (const auto& domain : domains) {
    if (domain->env() == env) domain->driver().requestStop();
  }
  for (const auto& domain : domains) {
    if (domain->env() == env) domain->stop();
  }
}

std::vector<std::shared_ptr<Domain>> openDomains() {
  std::vector<std::shared_ptr<Domain>> open;
  std::lock_guard<std::mutex> lock(registry().mutex);
  for (const auto& entry : registry().domains) {
    if (auto domain = entry.lock()) open.push_back(std::move(domain));
  }
  return open;
}

void forgetAtExit(const Domain* domain) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  auto& domains = registry().domains;
  domains.erase(std::remove_if(domains.begin(), domains.end(),
                               [&](const std::weak_ptr<Domain>& entry) {
                                 const auto live = entry.lock();
                                 return !live || live.get() == domain;
                               }),
                domains.end());
}

}  // namespace fab
