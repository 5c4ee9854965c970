#pragma once

#include <napi.h>

namespace fab {

void exportDomainState(Napi::Object exports);

}  // namespace fab
