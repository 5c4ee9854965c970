// Addresses that peers send, and the files in /dev/shm that they name. The addon reads these before
// the provider does.
#include <fcntl.h>
#include <rdma/fi_errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "../../native/providers/address_format.h"
#include "../../native/providers/local_peers.h"
#include "../../native/providers/own_name.h"
#include "../../native/providers/shared_regions.h"
#include "../../native/util/misuse.h"
#include "support/fuzz.h"

namespace {

constexpr uint32_t kFormats[] = {
    FI_FORMAT_UNSPEC, FI_SOCKADDR,   FI_SOCKADDR_IN, FI_SOCKADDR_IN6,  FI_SOCKADDR_IB,
    FI_ADDR_PSMX,     FI_ADDR_GNI,   FI_ADDR_BGQ,    FI_ADDR_MLX,      FI_ADDR_STR,
    FI_ADDR_PSMX2,    FI_ADDR_IB_UD, FI_ADDR_EFA,    fab::kSockaddrIp, 0xffff,
};
constexpr size_t kFormatCount = sizeof(kFormats) / sizeof(*kFormats);

// A file in /dev/shm that the fuzzer fills. Its name is that of an address.
class Region {
 public:
  Region()
      : name_("libfabric-fuzz-" + std::to_string(getpid())),
        fd_(open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)) {
    CLAIM(fd_ >= 0);
  }
  ~Region() {
    close(fd_);
    unlink(path().c_str());
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  const std::string& name() const { return name_; }

  void fill(fuzz::Input& input) {
    CLAIM(ftruncate(fd_, 0) == 0);
    CLAIM(ftruncate(fd_, input.take<uint16_t>()) == 0);
    uint8_t header[96];
    const size_t size = input.below(sizeof(header) + 1);
    input.read(header, size);
    CLAIM(pwrite(fd_, header, size, 0) == static_cast<ssize_t>(size));
  }

 private:
  std::string path() const { return "/dev/shm/" + name_; }

  const std::string name_;
  const int fd_;
};

template <typename Check>
bool accepts(Check&& check) {
  try {
    check();
    return true;
  } catch (const fab::Misuse&) {
    return false;
  }
}

// The addon's steps for an address whose form is valid.
void read(uint32_t format, const uint8_t* address) {
  fi_info info{};
  info.addr_format = format;
  const std::string file = fab::shared_regions::nameOf(info, address);
  fab::isOfOtherNamespace(file);
  if (format == FI_ADDR_STR) {
    if (!accepts([&] { fab::shared_regions::checkName(address, "address"); })) return;
    CLAIM(!file.empty() && file.size() <= 253 && file.find('/') == std::string::npos);
    CLAIM(file != "." && file != "..");
  }
  if (format == FI_ADDR_STR || format == FI_ADDR_EFA) {
    CLAIM(!fab::local_peers::isOwn(fab::local_peers::nameOf(info, address)));
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Region region;
  fuzz::Input input(data, size);
  region.fill(input);
  const int found = fab::shared_regions::inspect(region.name());
  CLAIM(found >= 0);
  const uint32_t format = kFormats[input.below(kFormatCount)];
  // With a separate copy, the sanitizer reports each read past the end.
  const size_t length = input.left();
  const auto address = std::make_unique<uint8_t[]>(length);
  input.read(address.get(), length);
  const auto check = [&] { fab::checkAddress(format, address.get(), length, "address"); };
  if (accepts(check)) read(format, address.get());
  return 0;
}
