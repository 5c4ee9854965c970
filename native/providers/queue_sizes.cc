#include "queue_sizes.h"

#include <rdma/fi_errno.h>
#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "../util/error.h"
#include "provider_traits.h"

namespace fab {

namespace queue_sizes {

namespace {

bool isReliable(const fi_info& entry) {
  return entry.ep_attr != nullptr && entry.ep_attr->type == FI_EP_RDM &&
         entry.fabric_attr != nullptr && entry.tx_attr != nullptr && entry.rx_attr != nullptr &&
         !isDirect(entry);
}

bool isTooSmall(const fi_info& entry) {
  if (!isReliable(entry)) return false;
  const ProviderTraits& traits = traitsOf(entry);
  return entry.tx_attr->size < traits.leastSends || entry.rx_attr->size < traits.leastReceives;
}

bool sameName(const char* a, const char* b) {
  return a != nullptr && b != nullptr && strcasecmp(a, b) == 0;
}

// Whether entries are of the same provider and NIC.
bool same(const fi_info& a, const fi_info& b) {
  return isReliable(b) && sameName(a.fabric_attr->prov_name, b.fabric_attr->prov_name) &&
         sameName(a.fabric_attr->name, b.fabric_attr->name) && a.domain_attr != nullptr &&
         b.domain_attr != nullptr && sameName(a.domain_attr->name, b.domain_attr->name);
}

// The number of packets of a message that a peer of efa requests at a time.
size_t credits() {
  constexpr size_t kDefault = 32;
  const char* given = std::getenv("FI_EFA_TX_MIN_CREDITS");
  const long value = given == nullptr ? 0 : std::strtol(given, nullptr, 10);
  return value > 0 ? static_cast<size_t>(value) : kDefault;
}

}  // namespace

bool areTooSmall(const fi_info* entries) {
  for (const fi_info* entry = entries; entry != nullptr; entry = entry->next) {
    if (isTooSmall(*entry)) return true;
  }
  return false;
}

void raise(fi_info* entries, const fi_info* own) {
  for (fi_info* entry = entries; entry != nullptr; entry = entry->next) {
    if (!isTooSmall(*entry)) continue;
    const fi_info* found = own;
    while (found != nullptr && !same(*entry, *found)) found = found->next;
    if (found == nullptr) continue;
    const ProviderTraits& traits = traitsOf(*entry);
    size_t& sends = entry->tx_attr->size;
    size_t& receives = entry->rx_attr->size;
    sends = std::max(sends, std::min(traits.leastSends, found->tx_attr->size));
    receives = std::max(receives, std::min(traits.leastReceives, found->rx_attr->size));
  }
}

void check(const fi_info& entry) {
  if (!isReliable(entry) || !traitsOf(entry).needsCredits) return;
  if (entry.tx_attr->size >= credits()) return;
  throw FabricFailure(FI_EINVAL, "fi_endpoint",
                      "with a transmit queue of " + std::to_string(entry.tx_attr->size) +
                          " operations, this efa provider loses messages and corrupts memory; set "
                          "FI_EFA_TX_SIZE to " +
                          std::to_string(credits()) + " or more, or unset it");
}

}  // namespace queue_sizes

}  // namespace fab
