#include "local_peers.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace fab {

namespace local_peers {

namespace {

struct Name {
  const Domain* home = nullptr;         // the endpoint's domain; null if in another process
  std::weak_ptr<Endpoint> endpoint;     // of this process
  std::set<const Domain*> inserters;    // the open domains that have inserted it
  bool closed = false;                  // the endpoint is closed and parked
  std::set<const Domain*> reachableBy;  // if closed, the domains that may still reach it
};

struct Registry {
  std::mutex mutex;
  std::unordered_map<std::string, Name> names;
  std::unordered_set<std::string> gone;        // closed names, which the provider never forgets
  std::set<std::set<std::string>> handshakes;  // by pairs of names
};

// Records that the domain no longer reaches the name. Returns whether the entry can be removed.
bool forget(Name& entry, const Domain& domain, const std::string& name,
            std::unordered_set<std::string>& gone) {
  entry.inserters.erase(&domain);
  entry.reachableBy.erase(&domain);
  const bool unreachable = entry.closed && entry.reachableBy.empty();
  if (unreachable) gone.insert(name);
  return unreachable || (!entry.closed && entry.home == nullptr && entry.inserters.empty());
}

// Never destroyed, because it is used while static objects are destroyed.
Registry& registry() {
  static Registry& instance = *std::make_unique<Registry>().release();
  return instance;
}

}  // namespace

std::string nameOf(const fi_info& info, const void* address) {
  const auto* bytes = static_cast<const char*>(address);
  constexpr size_t kEfaIdentity = 24;  // GID, QPN, QKEY
  if (info.addr_format != FI_ADDR_STR) return std::string(bytes, kEfaIdentity);
  const char* scheme = std::strstr(bytes, "://");  // shm uses the part that follows it
  return scheme == nullptr ? bytes : scheme + 3;
}

bool addEndpoint(const std::string& name, const Domain& domain, std::weak_ptr<Endpoint> endpoint) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  Name& entry = registry().names[name];
  if (entry.closed) return false;
  entry.home = &domain;
  entry.endpoint = std::move(endpoint);
  return true;
}

std::shared_ptr<Endpoint> endpointOf(const std::string& name) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  const auto found = registry().names.find(name);
  return found == registry().names.end() ? nullptr : found->second.endpoint.lock();
}

bool addHandshake(const std::string& one, const std::string& other) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  return registry().handshakes.insert({one, other}).second;
}

bool addPeer(const std::string& name, const Domain& domain) {
  auto& [mutex, names, gone, handshakes] = registry();
  const std::lock_guard<std::mutex> lock(mutex);
  if (gone.count(name) > 0 || names[name].closed) return false;
  names[name].inserters.insert(&domain);
  return true;
}

void removePeer(const std::string& name, const Domain& domain) {
  auto& [mutex, names, gone, handshakes] = registry();
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = names.find(name);
  if (found != names.end() && forget(found->second, domain, found->first, gone)) names.erase(found);
}

bool isOwn(const std::string& name) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  const auto found = registry().names.find(name);
  return found != registry().names.end() && found->second.home != nullptr;
}

// Two kinds of domains may reach an endpoint: domains that inserted its address, and domains to
// which it may have sent.
bool removeEndpoint(const std::string& name) {
  auto& [mutex, names, gone, handshakes] = registry();
  const std::lock_guard<std::mutex> lock(mutex);
  for (auto pair = handshakes.begin(); pair != handshakes.end();) {
    pair = pair->count(name) > 0 ? handshakes.erase(pair) : std::next(pair);
  }
  Name& entry = names[name];
  entry.closed = true;
  entry.endpoint.reset();
  entry.reachableBy = entry.inserters;
  for (const auto& [other, peer] : names) {
    if (peer.home != nullptr && peer.inserters.count(entry.home) > 0) {
      entry.reachableBy.insert(peer.home);
    }
  }
  if (!entry.reachableBy.empty()) return false;
  gone.insert(name);
  names.erase(name);
  return true;
}

void removeDomain(const Domain& domain) {
  auto& [mutex, names, gone, handshakes] = registry();
  const std::lock_guard<std::mutex> lock(mutex);
  for (auto entry = names.begin(); entry != names.end();) {
    if (entry->second.home == &domain) entry->second.home = nullptr;
    const bool unused = forget(entry->second, domain, entry->first, gone);
    entry = unused ? names.erase(entry) : std::next(entry);
  }
}

bool reachable(const std::string& name) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  return registry().names.count(name) > 0;
}

bool hasForeignPeers(const Domain& domain) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  const auto& names = registry().names;
  return std::any_of(names.begin(), names.end(), [&](const auto& entry) {
    const Name& name = entry.second;
    return name.home == nullptr && !name.closed && name.inserters.count(&domain) > 0;
  });
}

}  // namespace local_peers

}  // namespace fab
