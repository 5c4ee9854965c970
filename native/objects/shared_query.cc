#include "shared_query.h"

#include <rdma/fabric.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "../providers/abi.h"
#include "../providers/info.h"
#include "../providers/provider_traits.h"
#include "domain.h"
#include "exit_registry.h"

namespace fab {

namespace {

// Only one environment may query at a time, because a query waits for engines while it holds
// others.
std::mutex& queries() {
  static std::mutex mutex;
  return mutex;
}

void askForEfa() {
  const InfoPtr hints(fi_allocinfo());
  if (!hints) return;
  hints->fabric_attr->prov_name = strdup("efa");
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG;
  hints->mode = kHandledModes & ~FI_MSG_PREFIX;
  hints->domain_attr->mr_mode = kHandledMrModes;
  fi_info* found = nullptr;
  if (fi_getinfo(apiVersion(), nullptr, nullptr, 0, hints.get(), &found) == 0) fi_freeinfo(found);
}

}  // namespace

int queryBesideEngines(const std::function<int()>& query) {
  if (fi_version() >= FI_VERSION(1, 18)) return query();
  const std::lock_guard<std::mutex> lock(queries());
  const auto domains = openDomains();
  std::vector<std::unique_ptr<Hold>> holds;
  for (const auto& domain : domains) {
    if (domain->closed() || !traitsOf(domain->info()).queriesFreeShared) continue;
    holds.push_back(std::make_unique<Hold>(domain->engine(), Hold::ToClose{}));
  }
  const int ret = query();
  if (!holds.empty()) askForEfa();
  return ret;
}

}  // namespace fab
