#include "options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "generation.h"

namespace softefa {
namespace {

const char* text(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

uint64_t number(const char* name, uint64_t fallback, uint64_t least, uint64_t most) {
  const char* value = text(name);
  if (value == nullptr) return fallback;
  char* end = nullptr;
  const uint64_t parsed = std::strtoull(value, &end, 0);
  if (*end != '\0' || parsed < least || parsed > most) {
    report("%s=%s is not a number in %llu..%llu, using %llu", name, value,
           static_cast<unsigned long long>(least), static_cast<unsigned long long>(most),
           static_cast<unsigned long long>(fallback));
    return fallback;
  }
  return parsed;
}

// Converts the name of a namespace to a part of a file name.
std::string fileName(const char* value) {
  std::string name(value, std::min<size_t>(std::strlen(value), 40));
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '_';
  }
  return name;
}

// The requested capabilities that devices of the generation can have; by default, those that its
// devices usually have. Text that cannot be parsed enables none.
uint32_t capabilitiesOf(const Generation& part) {
  const char* value = text("SOFTEFA_CAPS");
  if (value == nullptr) return part.usual;
  uint32_t wanted = 0;
  if (!parseCapabilities(value, wanted)) {
    report(
        "SOFTEFA_CAPS=%s is neither a number nor a list of RDMA_READ, RNR_RETRY, CQ_WITH_SGID, "
        "RDMA_WRITE, UNSOLICITED_WRITE_RECV, CQ_WITH_EXT_MEM_DMABUF, COMP_CNTR, "
        "SQ_64_BIT_REQ_ID, DATA_POLLING_128, all or none, "
        "using none",
        value);
    wanted = 0;
  }
  return wanted & part.possible;
}

// Text that cannot be parsed gives no node.
std::vector<int> numaNodes() {
  const char* value = text("SOFTEFA_NUMA_NODES");
  if (value == nullptr) return {};
  std::vector<int> nodes;
  for (const char* at = value;; ++at) {
    char* end = nullptr;
    const long node = std::strtol(at, &end, 10);
    const bool valid = end != at && node >= 0 && node < 1024 && (*end == ',' || *end == '\0');
    if (!valid) {
      report("SOFTEFA_NUMA_NODES=%s is not a list of numbers in 0..1023, using none", value);
      return {};
    }
    nodes.push_back(static_cast<int>(node));
    if (*end == '\0') return nodes;
    at = end;
  }
}

Options fromEnvironment() {
  Options options;
  if (const char* value = text("SOFTEFA_NAMESPACE")) options.nameSpace = fileName(value);
  if (const char* value = text("SOFTEFA_DIRECTORY")) {
    options.directory = value;
  } else {
    options.directory = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  }
  options.keep = number("SOFTEFA_KEEP", 1, 0, 1) != 0;
  options.node = static_cast<uint16_t>(number("SOFTEFA_NODE", 0, 0, 65535));
  options.nics = static_cast<uint16_t>(number("SOFTEFA_NICS", 1, 1, 64));
  options.async = number("SOFTEFA_ASYNC", 0, 0, 1) != 0;
  options.direct = number("SOFTEFA_DIRECT", 0, 0, 1) != 0;
  options.seed = number("SOFTEFA_SEED", 1, 0, UINT64_MAX);
  options.partId = static_cast<uint32_t>(number("SOFTEFA_PART_ID", 0xefa2, 0xefa0, 0xefaf));
  options.capabilities = capabilitiesOf(Generation::of(options.partId));
  options.forkStatus = static_cast<int>(number("SOFTEFA_FORK_STATUS", 2, 0, 2));
  options.maxMr = static_cast<uint32_t>(number("SOFTEFA_MAX_MR", 65536, 1, 65536));
  if (const char* value = text("SOFTEFA_MEMLOCK")) {
    options.memlockGiven = true;
    options.memlock = std::strcmp(value, "unlimited") == 0
                          ? UINT64_MAX
                          : number("SOFTEFA_MEMLOCK", UINT64_MAX, 0, UINT64_MAX);
  }
  options.timeoutMs = static_cast<uint32_t>(number("SOFTEFA_TIMEOUT_MS", 5000, 1, 3600000));
  options.rate = number("SOFTEFA_RATE", 0, 0, UINT64_MAX);
  options.numaNodes = numaNodes();
  if (const char* value = text("SOFTEFA_COPY")) options.bounce = std::strcmp(value, "bounce") == 0;
  return options;
}

}  // namespace

const Options& Options::get() {
  // Never destroyed, because the engine's thread reads it until the process ends.
  static const Options& options = *std::make_unique<Options>(fromEnvironment()).release();
  return options;
}

void report(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  if (length > 0) std::fprintf(stderr, "softefa: %s\n", line);
}

}  // namespace softefa
