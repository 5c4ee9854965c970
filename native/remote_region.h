#pragma once

#include <napi.h>

namespace fab {

void exportRemoteRegion(Napi::Object exports);

}  // namespace fab
