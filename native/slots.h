#pragma once

#include <napi.h>

namespace fab {

void exportSlots(Napi::Object exports);

}  // namespace fab
