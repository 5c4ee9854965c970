#pragma once

#include <napi.h>

namespace fab {

// batchCreate, batchDestroy; what a batch is, engine/batch.h says.
void exportBatch(Napi::Object exports);

}  // namespace fab
