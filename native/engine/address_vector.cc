#include "address_vector.h"

#include <algorithm>
#include <array>
#include <vector>

#include "../providers/provider_traits.h"
#include "engine.h"

namespace fab {

int AddressVector::remove(fi_addr_t address) {
  forgetBytes(address);
  peers_.erase(address);
  if (traitsOf(info_).keepsAddresses) return 0;
  names_.erase(address);
  return fi_av_remove(av_.get(), &address, 1, 0);
}

void AddressVector::remember(fi_addr_t address, uint32_t peer, const std::string& name) {
  peers_[address] = peer;
  if (!name.empty()) names_[address] = name;
  // A call without a buffer would return the length, but shm writes through the null pointer.
  std::array<uint8_t, kMaxAddress> bytes{};
  size_t length = bytes.size();
  if (fi_av_lookup(av_.get(), address, bytes.data(), &length) != 0) return;
  length = std::min(length, bytes.size());
  const std::lock_guard<std::mutex> lock(bytesMutex_);
  bytes_[peer].assign(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
}

void AddressVector::forget(fi_addr_t address) {
  forgetBytes(address);
  peers_.erase(address);
  names_.erase(address);
}

void AddressVector::forgetBytes(fi_addr_t address) {
  const std::lock_guard<std::mutex> lock(bytesMutex_);
  bytes_.erase(peerOf(address));
}

std::vector<uint8_t> AddressVector::bytesOf(uint32_t peer) const {
  const std::lock_guard<std::mutex> lock(bytesMutex_);
  const auto found = bytes_.find(peer);
  return found == bytes_.end() ? std::vector<uint8_t>() : found->second;
}

std::string AddressVector::nameOf(uint32_t peer) const {
  const std::vector<uint8_t> bytes = bytesOf(peer);
  return bytes.empty() ? "" : printable(bytes.data());
}

std::string AddressVector::printable(const void* address) const {
  std::vector<char> text(8192);  // a string address has up to 4096 bytes
  size_t length = text.size();
  if (fi_av_straddr(av_.get(), address, text.data(), &length) == nullptr) return "";
  text.back() = 0;
  return text.data();
}

int AddressVector::closeSelf() {
  if (const int ret = engine_.parking.close(av_); ret != 0) return ret;
  for (const auto& [address, peer] : peers_) engine_.peers.erase(peer);
  engine_.renewHandles();
  return 0;
}

}  // namespace fab
