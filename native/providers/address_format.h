#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace fab {

constexpr uint32_t kSockaddrIp = 17;  // FI_SOCKADDR_IP, libfabric 2.3

// Throws Misuse unless the bytes have the length and the address family of this format
// (fi_getinfo(3), Addressing formats). Providers read as many bytes as the format has, regardless
// of the length that they are given.
void checkAddress(uint32_t format, const uint8_t* bytes, size_t length, const std::string& what);

}  // namespace fab
