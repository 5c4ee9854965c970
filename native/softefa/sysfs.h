#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mapping.h"

namespace softefa {

class OwnSegment;

// The part of /sys in which a device is looked up, as files of this process, with SYSFS_PATH
// leading there. The counters lie where the EFA driver has them: softefa_N/hw_counters and
// softefa_N/ports/1/hw_counters under class/infiniband. They are those of the process, and are
// written when it calls ibv_query_port(3) or closes the device, and every second at the latest.
class Sysfs {
 public:
  // Throws std::system_error.
  Sysfs(const std::string& root, const OwnSegment& segment);

  void refresh();
  const std::string& root() const { return root_; }
  std::string devicePath(uint32_t nic) const;  // ibv_device.ibdev_path
  std::string verbsPath(uint32_t nic) const;   // ibv_device.dev_path

 private:
  struct CounterFile {
    Fd file;
    const std::atomic<uint64_t>* counter;
    uint64_t written;
  };

  void makeDevice(uint32_t nic);
  void addCounter(const std::string& folder, const char* name,
                  const std::atomic<uint64_t>& counter);

  std::string root_;
  const OwnSegment& segment_;
  std::vector<CounterFile> counters_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

std::string deviceName(uint32_t nic);

}  // namespace softefa
