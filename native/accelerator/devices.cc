#include "devices.h"

#include <cstdio>

namespace accelerator {

std::string pciAddressOf(uint32_t domain, uint32_t bus, uint32_t device, uint32_t function) {
  char text[32];
  std::snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", domain, bus, device, function);
  return text;
}

}  // namespace accelerator
