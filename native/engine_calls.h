#pragma once

#include <napi.h>

namespace fab {

void exportEngineCalls(Napi::Object exports);

}  // namespace fab
