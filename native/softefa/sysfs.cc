#include "sysfs.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "device_attributes.h"
#include "nic_address.h"
#include "options.h"
#include "segment.h"

namespace softefa {
namespace {

namespace fs = std::filesystem;

void put(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << "\n";
  if (!file.flush()) throw std::system_error(errno, std::generic_category(), path);
}

std::string hex(const char* format, unsigned value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string pciName(uint32_t nic) { return hex("0000:%02x:1f.0", 0x80 + nic); }

std::string gidText(const ibv_gid& gid) {
  std::string text;
  for (int i = 0; i < 16; i += 2) {
    if (i != 0) text += ':';
    text += hex("%04x", static_cast<unsigned>(gid.raw[i] << 8 | gid.raw[i + 1]));
  }
  return text;
}

}  // namespace

std::string deviceName(uint32_t nic) { return "softefa_" + std::to_string(nic); }

std::string Sysfs::devicePath(uint32_t nic) const {
  return root_ + "/class/infiniband/" + deviceName(nic);
}

std::string Sysfs::verbsPath(uint32_t nic) const {
  return root_ + "/class/infiniband_verbs/uverbs" + std::to_string(nic);
}

Sysfs::Sysfs(const std::string& root, const OwnSegment& segment) : root_(root), segment_(segment) {
  fs::create_directories(root_ + "/bus/pci/drivers/softefa");
  fs::create_directories(root_ + "/class/infiniband_verbs");
  put(root_ + "/class/infiniband_verbs/abi_version", "6");
  for (uint32_t nic = 0; nic < Options::get().nics; ++nic) makeDevice(nic);
  refresh();
}

void Sysfs::makeDevice(uint32_t nic) {
  const Options& options = Options::get();
  const std::string pci = root_ + "/devices/pci0000:80/" + pciName(nic);
  fs::create_directories(pci);
  put(pci + "/vendor", hex("0x%04x", kVendorId));
  put(pci + "/device", hex("0x%04x", options.partId));
  put(pci + "/numa_node", "-1");
  fs::create_directory_symlink(root_ + "/bus/pci/drivers/softefa", pci + "/driver");

  const std::string device = devicePath(nic);
  const std::string port = device + "/ports/1";
  for (const char* folder : {"/hw_counters", "/gids", "/pkeys"}) {
    fs::create_directories(port + folder);
  }
  fs::create_directories(device + "/hw_counters");
  fs::create_directory_symlink(pci, device + "/device");
  put(device + "/node_type", "6: usnic udp");
  put(device + "/fw_ver", kFirmware);
  put(port + "/state", "4: ACTIVE");
  put(port + "/link_layer", "Unspecified");
  put(port + "/pkeys/0", "0xffff");
  put(port + "/gids/0", gidText(NicAddress{options.node, static_cast<uint16_t>(nic)}.toGid()));

  const std::string verbs = verbsPath(nic);
  fs::create_directories(verbs);
  put(verbs + "/ibdev", deviceName(nic));
  put(verbs + "/abi_version", "1");
  fs::create_directory_symlink(pci, verbs + "/device");

  const NicCounters& counters = segment_.counters(nic);
  for (const NamedCounter& named : kPortCounters) {
    addCounter(port + "/hw_counters/", named.name, counters.*named.counter);
  }
  for (const NamedCounter& named : kDeviceCounters) {
    addCounter(device + "/hw_counters/", named.name, counters.*named.counter);
  }
}

void Sysfs::addCounter(const std::string& folder, const char* name,
                       const std::atomic<uint64_t>& counter) {
  const std::string path = folder + name;
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) throw std::system_error(errno, std::generic_category(), path);
  counters_.push_back({std::move(file), &counter, UINT64_MAX});
}

void Sysfs::refresh() {
  if (busy_.test_and_set(std::memory_order_acquire)) return;
  for (CounterFile& file : counters_) {
    const uint64_t value = file.counter->load(std::memory_order_relaxed);
    if (value == file.written) continue;
    // Counters only rise: a text is never shorter than the one that it replaces.
    const std::string text = std::to_string(value) + "\n";
    if (::pwrite(file.file.get(), text.data(), text.size(), 0) > 0) file.written = value;
  }
  busy_.clear(std::memory_order_release);
}

}  // namespace softefa
