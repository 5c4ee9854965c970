#pragma once

#include <napi.h>
#include <rdma/fabric.h>

#include "util/fid.h"
#include "util/resource.h"

namespace fab {

class Fabric : public Resource {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6661627200000001};
  static constexpr const char* kName = "Fabric";

  explicit Fabric(Fid<fid_fabric> fabric) : fabric_(std::move(fabric)) {}
  fid_fabric* get() const { return fabric_.get(); }

 protected:
  int closeSelf() override { return fabric_.close(); }

 private:
  Fid<fid_fabric> fabric_;
};

void exportFabric(Napi::Object exports);

}  // namespace fab
