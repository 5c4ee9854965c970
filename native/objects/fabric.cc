#include "fabric.h"

namespace fab {

int Fabric::closeSelf() {
  if (fabric_.use_count() == 1) return fabric_->close();
  fabric_.reset();  // the last parked domain keeps it open
  return 0;
}

}  // namespace fab
