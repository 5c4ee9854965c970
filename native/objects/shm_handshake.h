#pragma once

#include <cstdint>

namespace fab {

class AddressVector;
class Endpoint;

// The handshake between two endpoints of one process that shm (2.5 to 2.7) needs, by itself or
// within efa. Without the handshake, the endpoint that sends first never learns where the region of
// the other endpoint is. Messages over 4 KiB to the first sender are lost or crash:
// docs/upstream.md. Both endpoints learn it if both have sent their names before either reads one.
// As soon as one endpoint has inserted the other, the package therefore lets both send and read
// their names.
namespace shm_handshake {

// Called after an address was inserted, before the caller can use it. The caller holds no engine.
void exchangeNames(AddressVector& av, const uint8_t* address);
// Called after an endpoint was opened. Its vector may already have peers. The caller holds no
// engine.
void exchangeNames(Endpoint& endpoint);

}  // namespace shm_handshake

}  // namespace fab
