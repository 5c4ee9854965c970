#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../engine/address_vector.h"

namespace fab {

// Checks an address without a provider. `what` is the path of the address in the caller's
// arguments.
void checkForm(const fi_info& info, const uint8_t* bytes, size_t length, const std::string& what);

// Inserts a checked address and returns the peer's handle. The caller holds the engine.
uint32_t insertAddress(AddressVector& av, const uint8_t* given);

}  // namespace fab
