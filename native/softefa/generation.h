#pragma once

#include <cstdint>

namespace softefa {

// What EFAs of one PCI device id can do.
struct Generation {
  uint32_t partId;
  uint32_t usual;     // capabilities that all its instances have
  uint32_t possible;  // those that some of them have

  // An id that is newer than all we know is like the newest.
  static const Generation& of(uint32_t partId);
};

// The capabilities that a text names, with commas: their names in efadv.h, "none", "all", or a mask
// in numbers. False if it says anything else.
bool parseCapabilities(const char* text, uint32_t& capabilities);

}  // namespace softefa
