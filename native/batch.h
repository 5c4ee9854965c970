#pragma once

#include <napi.h>

namespace fab {

// batchCreate, batchDestroy; engine/batch.h defines a batch.
void exportBatch(Napi::Object exports);

}  // namespace fab
