#pragma once

#include <napi.h>

namespace fab {

void exportEfa(Napi::Object exports);

}  // namespace fab
