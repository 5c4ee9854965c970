#pragma once

#include <cstdint>

namespace softefa {

// The capabilities of EFAs with one PCI device id.
struct Generation {
  uint32_t partId;
  uint32_t usual;     // capabilities that all devices with this id have
  uint32_t possible;  // capabilities that some devices with this id have

  // An id newer than all known ones gets the newest generation.
  static const Generation& of(uint32_t partId);
};

// Parses capabilities: their names in efadv.h separated by commas, "none", "all", or a numeric
// mask. Returns false for any other text.
bool parseCapabilities(const char* text, uint32_t& capabilities);

}  // namespace softefa
