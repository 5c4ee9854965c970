#include "address_format.h"

#include <netinet/in.h>
#include <rdma/fabric.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "../util/misuse.h"

namespace fab {
namespace {

constexpr size_t kMaxAddress = 4096;
constexpr int kAfIb = 27;           // AF_IB
constexpr size_t kSockaddrIb = 48;  // struct sockaddr_ib

void checkLength(size_t length, size_t needed, const std::string& what) {
  if (length >= needed) return;
  throwInvalidValue(
      what, "has " + std::to_string(length) + " bytes; its format has " + std::to_string(needed));
}

void checkSockaddr(uint32_t format, const uint8_t* bytes, size_t length, const std::string& what) {
  sa_family_t family = 0;
  checkLength(length, sizeof family, what);
  std::memcpy(&family, bytes, sizeof family);
  const bool any = format == FI_SOCKADDR;
  const bool ip = any || format == kSockaddrIp;
  if (family == AF_INET && (ip || format == FI_SOCKADDR_IN)) {
    return checkLength(length, sizeof(sockaddr_in), what);
  }
  if (family == AF_INET6 && (ip || format == FI_SOCKADDR_IN6)) {
    return checkLength(length, sizeof(sockaddr_in6), what);
  }
  if (family == kAfIb && (any || format == FI_SOCKADDR_IB)) {
    return checkLength(length, kSockaddrIb, what);
  }
  throwInvalidValue(what, "has address family " + std::to_string(family) +
                              ", which its address format does not allow");
}

}  // namespace

void checkAddress(uint32_t format, const uint8_t* bytes, size_t length, const std::string& what) {
  if (length > kMaxAddress) throwInvalidValue(what, "is longer than an address (4096 bytes)");
  switch (format) {
    case FI_FORMAT_UNSPEC:
      throwInvalidValue(what, "has no address format; give the format");
    case FI_SOCKADDR:
    case FI_SOCKADDR_IN:
    case FI_SOCKADDR_IN6:
    case FI_SOCKADDR_IB:
    case kSockaddrIp:
      return checkSockaddr(format, bytes, length, what);
    case FI_ADDR_STR:
      if (std::find(bytes, bytes + length, 0) != bytes + length) return;
      throwInvalidValue(what, "is a string address (FI_ADDR_STR) without its closing NUL");
    case FI_ADDR_PSMX:
      return checkLength(length, 8, what);
    case FI_ADDR_PSMX2:
      return checkLength(length, 16, what);
    case FI_ADDR_IB_UD:
    case FI_ADDR_EFA:
    case FI_ADDR_PSMX3:
      return checkLength(length, 32, what);
    default:
      return checkLength(length, 1, what);
  }
}

}  // namespace fab
