#pragma once

#include <node_api.h>
#include <rdma/fabric.h>

#include <memory>

#include "../util/fid.h"
#include "../util/resource.h"

namespace fab {

class Fabric : public Resource {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6661627200000001};
  static constexpr const char* kName = "Fabric";

  explicit Fabric(Fid<fid_fabric> fabric)
      : fabric_(std::make_shared<Fid<fid_fabric>>(std::move(fabric))) {}
  fid_fabric* get() const { return fabric_->get(); }
  // The reference that a parked domain holds.
  std::shared_ptr<void> share() const { return fabric_; }

 protected:
  int closeSelf() override;

 private:
  std::shared_ptr<Fid<fid_fabric>> fabric_;
};

}  // namespace fab
