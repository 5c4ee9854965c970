#pragma once

#include <node_api.h>
#include <rdma/fi_domain.h>

#include "../util/fid.h"
#include "../util/resource.h"

namespace fab {

class Engine;

class Counter : public Resource {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x636e747200000001};
  static constexpr const char* kName = "Counter";

  Counter(Engine& engine, Fid<fid_cntr> counter) : engine_(engine), counter_(std::move(counter)) {}
  Engine& engine() const { return engine_; }
  fid_cntr* get() const { return counter_.get(); }

  // The value, which is exact only after the completions that it counts have been read. Must not be
  // called while a queue is being read.
  uint64_t successes() const;
  // Called for a failed receive that the provider has counted as a success: Receives::truncate().
  void countAsFailed();

  // The provider counts such receives.
  bool overcounts = false;

 protected:
  int closeSelf() override;

 private:
  Engine& engine_;
  Fid<fid_cntr> counter_;
  uint64_t corrections_ = 0;
};

}  // namespace fab
