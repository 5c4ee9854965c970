#pragma once

#include <cstdint>

namespace fab {

class AddressVector;
class Endpoint;

// shm (2.5 to 2.7), itself or within efa: of two endpoints of one process, the one that sends first
// never learns where the region of the other is. Messages over 4 KiB to it are lost or crash:
// docs/upstream.md. Both learn it if both have sent their names before either reads one. As soon as
// one of them has inserted the other, the package therefore lets both send and read their names.
namespace introductions {

// Called after an address was inserted, before the caller can use it. The caller holds no engine.
void introduce(AddressVector& av, const uint8_t* address);
// Called after an endpoint was opened, whose vector may have peers already. The caller holds no
// engine.
void introduce(Endpoint& endpoint);

}  // namespace introductions

}  // namespace fab
