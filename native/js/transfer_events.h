#pragma once

#include <napi.h>

#include "../transfer/events.h"

namespace fab::transfer {

// Calls deliver(kind, id, status, text, from, bytes) for each event.
Events::Deliver deliverTo(const Napi::Function& deliver);

}  // namespace fab::transfer
