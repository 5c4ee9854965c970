#pragma once

#include <node_api.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "../util/fid.h"
#include "../util/resource.h"

namespace fab {

class Domain;
class Engine;

class AddressVector : public Resource {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6176000000000001};
  static constexpr const char* kName = "AddressVector";
  static constexpr size_t kMaxAddress = 4096;  // bytes

  // `info` must live as long as the domain.
  AddressVector(std::shared_ptr<Domain> domain, Engine& engine, const fi_info& info, Fid<fid_av> av)
      : domain_(std::move(domain)), engine_(engine), info_(info), av_(std::move(av)) {}
  Domain& domain() const { return *domain_; }
  const fi_info& info() const { return info_; }
  fid_av* get() const { return av_.get(); }

  uint32_t endpoints = 0;         // open endpoints that are bound to it
  int closedBy = FI_EOPBADSTATE;  // why its last endpoint closed

  // Removes an address; also from the provider's vector (fi_av_remove) if that is safe. Returns 0
  // or a negative errno.
  int remove(fi_addr_t address);

  // The peer handle of an address that a completion reports; 0 if it is not in this vector.
  uint32_t peerOf(fi_addr_t address) const {
    auto found = peers_.find(address);
    return found == peers_.end() ? 0 : found->second;
  }
  // `name` is the string address (FI_ADDR_STR) that was inserted, or empty for other formats.
  void remember(fi_addr_t address, uint32_t peer, const std::string& name);
  // The fi_addr_t of a string address, even if its peer has been removed since. shm (1.17) has room
  // for 256 insertions, so an address must not be inserted again.
  fi_addr_t addressOf(const std::string& name) const {
    for (const auto& [address, known] : names_) {
      if (known == name) return address;
    }
    return FI_ADDR_NOTAVAIL;
  }
  size_t size() const { return peers_.size(); }
  // The address of a peer, as fi_av_lookup(3) returns it; empty if there is none. Any thread may
  // call it, without holding the engine.
  std::vector<uint8_t> bytesOf(uint32_t peer) const;
  // A printable form, from fi_av_straddr(3); empty if there is none.
  std::string nameOf(uint32_t peer) const;
  std::string printable(const void* address) const;
  bool knownAs(fi_addr_t address, const std::string& name) const {
    auto found = names_.find(address);
    return found == names_.end() || found->second == name;
  }
  void forget(fi_addr_t address);

 protected:
  int closeSelf() override;

 private:
  void forgetBytes(fi_addr_t address);

  std::shared_ptr<Domain> domain_;
  Engine& engine_;
  const fi_info& info_;
  Fid<fid_av> av_;
  std::unordered_map<fi_addr_t, uint32_t> peers_;
  std::unordered_map<fi_addr_t, std::string> names_;
  mutable std::mutex bytesMutex_;
  std::unordered_map<uint32_t, std::vector<uint8_t>> bytes_;  // addresses by peer
};

}  // namespace fab
