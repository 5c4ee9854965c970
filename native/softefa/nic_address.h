#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace softefa {

// The name of a device of a node.
inline std::string deviceName(uint32_t nic) { return "softefa_" + std::to_string(nic); }

// The address of a NIC in a namespace: the node and the NIC of the node. Its GID is
// fe80::736f:6674:<node>:<nic + 1>, which contains "soft", so that it cannot be mistaken for an
// EFA's.
struct NicAddress {
  uint16_t node = 0;
  uint16_t nic = 0;

  uint32_t key() const { return uint32_t{node} << 16 | nic; }
  static NicAddress fromKey(uint32_t key) {
    return {static_cast<uint16_t>(key >> 16), static_cast<uint16_t>(key)};
  }

  ibv_gid toGid() const {
    ibv_gid gid;
    std::memcpy(gid.raw, kPrefix, sizeof(kPrefix));
    const unsigned ordinal = nic + 1u;
    gid.raw[12] = static_cast<uint8_t>(node >> 8);
    gid.raw[13] = static_cast<uint8_t>(node);
    gid.raw[14] = static_cast<uint8_t>(ordinal >> 8);
    gid.raw[15] = static_cast<uint8_t>(ordinal);
    return gid;
  }

  // Returns false if no softefa device can have this GID.
  static bool fromGid(const ibv_gid& gid, NicAddress& address) {
    const unsigned ordinal = gid.raw[14] << 8 | gid.raw[15];
    if (std::memcmp(gid.raw, kPrefix, sizeof(kPrefix)) != 0 || ordinal == 0) return false;
    address.node = static_cast<uint16_t>(gid.raw[12] << 8 | gid.raw[13]);
    address.nic = static_cast<uint16_t>(ordinal - 1);
    return true;
  }

 private:
  static constexpr uint8_t kPrefix[12] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 's', 'o', 'f', 't'};
};

inline bool operator==(NicAddress a, NicAddress b) { return a.key() == b.key(); }

}  // namespace softefa
