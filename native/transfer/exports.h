#pragma once

#include <napi.h>

namespace fab {

void exportTransfer(Napi::Object exports);

}  // namespace fab
