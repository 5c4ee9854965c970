#include "sysfs.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "device_attributes.h"
#include "namespace.h"
#include "nic_address.h"
#include "options.h"

namespace softefa {
namespace {

namespace fs = std::filesystem;

// Replaces a file atomically, because other processes may be reading it.
void put(const std::string& path, const std::string& text) {
  std::string before;
  if (std::getline(std::ifstream(path), before) && before == text) return;
  const std::string made = path + ".new";
  std::ofstream file(made);
  file << text << "\n";
  if (!file.flush()) throw std::system_error(errno, std::generic_category(), path);
  fs::rename(made, path);
}

void link(const std::string& target, const std::string& path) {
  if (!fs::is_symlink(path)) fs::create_directory_symlink(target, path);
}

std::string hex(const char* format, unsigned value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string pciName(uint32_t nic) { return hex("0000:%02x:1f.0", 0x80 + nic); }

// The format of GIDs and GUIDs.
std::string groups(const uint8_t* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; i += 2) {
    if (i != 0) text += ':';
    text += hex("%04x", static_cast<unsigned>(bytes[i] << 8 | bytes[i + 1]));
  }
  return text;
}

std::string devicePathIn(const std::string& root, uint32_t nic) {
  return root + "/class/infiniband/" + deviceName(nic);
}

std::string verbsPathIn(const std::string& root, uint32_t nic) {
  return root + "/class/infiniband_verbs/uverbs" + std::to_string(nic);
}

void makeDevice(const std::string& root, uint32_t nic) {
  const Options& options = Options::get();
  const std::string below = "devices/pci0000:80/" + pciName(nic);
  const std::string pci = root + "/" + below;
  fs::create_directories(pci);
  for (const char* prefix : {"/", "/subsystem_"}) {
    put(pci + prefix + "vendor", hex("0x%04x", kVendorId));
    put(pci + prefix + "device", hex("0x%04x", options.partId));
  }
  put(pci + "/class", "0x020000");  // an Ethernet controller
  put(pci + "/revision", "0x00");
  put(pci + "/p2p", "");  // no memory of other devices
  const auto& nodes = options.numaNodes;
  put(pci + "/numa_node", nodes.empty() ? "-1" : std::to_string(nodes[nic % nodes.size()]));
  link("../../../bus/pci/drivers/softefa", pci + "/driver");

  const std::string device = devicePathIn(root, nic);
  const std::string port = device + "/ports/1";
  for (const char* folder : {"/gids", "/pkeys", "/gid_attrs/types"}) {
    fs::create_directories(port + folder);
  }
  link("../../../" + below, device + "/device");
  put(device + "/node_type", "7: unspecified");
  put(device + "/fw_ver", "");  // the driver has none
  put(device + "/node_desc", "");
  const ibv_gid gid = NicAddress{options.node, static_cast<uint16_t>(nic)}.toGid();
  for (const char* name : {"/node_guid", "/sys_image_guid"}) {
    put(device + name, groups(gid.raw + 8, 8));
  }
  put(port + "/state", "4: ACTIVE");
  put(port + "/phys_state", "5: LinkUp");
  put(port + "/rate", "100 Gb/sec (4X EDR)");
  put(port + "/cap_mask", "0x00000000");
  put(port + "/lid", "0x0");
  put(port + "/lid_mask_count", "1");
  put(port + "/sm_lid", "0x0");
  put(port + "/sm_sl", "0");
  put(port + "/link_layer", "Unknown");
  put(port + "/pkeys/0", "0xffff");
  put(port + "/gids/0", groups(gid.raw, sizeof(gid.raw)));
  put(port + "/gid_attrs/types/0", "IB/RoCE v1");

  const std::string verbs = verbsPathIn(root, nic);
  fs::create_directories(verbs);
  put(verbs + "/ibdev", deviceName(nic));
  put(verbs + "/abi_version", "1");
  put(verbs + "/dev", "231:" + std::to_string(192 + nic));
  link("../../../" + below, verbs + "/device");
}

void makeTree(const std::string& root) {
  fs::create_directories(root + "/bus/pci/drivers/softefa");
  fs::create_directories(root + "/class/infiniband_verbs");
  put(root + "/class/infiniband_verbs/abi_version", "6");
  for (uint32_t nic = 0; nic < Options::get().nics; ++nic) makeDevice(root, nic);
}

// Creates the tree of the node, or adds the devices that only this process has. Returns its path.
std::string makeNode(const Namespace& space) {
  const Namespace::Lock lock(space);
  std::string folder = NodeCounters::makeFolder(space.path(), Options::get().node);
  makeTree(folder);
  return folder;
}

}  // namespace

std::string Sysfs::devicePath(uint32_t nic) const { return devicePathIn(root_, nic); }

std::string Sysfs::verbsPath(uint32_t nic) const { return verbsPathIn(root_, nic); }

Sysfs::Sysfs(const Namespace& space, SegmentHeader& process)
    : root_(space.self().path() + "/sysfs"),
      process_(process),
      counters_(makeNode(space), Options::get().nics) {
  makeTree(root_);
  for (uint32_t nic = 0; nic < Options::get().nics; ++nic) {
    const std::string device = devicePath(nic);
    // A relative link: from the device's folder up to the namespace's, then down to the node's.
    const std::string target =
        devicePathIn(NodeCounters::folderOf("../../../../..", Options::get().node), nic);
    link(target + "/hw_counters", device + "/hw_counters");
    link("../../" + target + "/ports/1/hw_counters", device + "/ports/1/hw_counters");
  }
  refresh();
}

}  // namespace softefa
