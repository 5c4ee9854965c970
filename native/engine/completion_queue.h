#pragma once

#include <node_api.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <array>
#include <memory>
#include <vector>

#include "../util/fid.h"
#include "../util/resource.h"
#include "immediates.h"

namespace fab {

class AddressVector;
class Engine;

class CompletionQueue : public Resource {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6371000000000001};
  static constexpr const char* kName = "CompletionQueue";
  static constexpr size_t kReadBatch = 64;

  CompletionQueue(Engine& engine, Fid<fid_cq> cq, const fi_cq_attr& attr, bool waitable)
      : engine_(engine),
        cq_(std::move(cq)),
        format_(attr.format),
        entrySize_(attr.format == FI_CQ_FORMAT_TAGGED ? sizeof(fi_cq_tagged_entry)
                                                      : sizeof(fi_cq_data_entry)),
        size_(attr.size),
        waitable_(waitable) {}

  fid_cq* get() const { return cq_.get(); }
  Engine& engine() const { return engine_; }
  fi_cq_format format() const { return format_; }
  size_t entrySize() const { return entrySize_; }  // bytes that the provider writes per completion
  size_t size() const { return size_; }
  bool waitable() const { return waitable_; }  // has a file descriptor to wait on
  void stopWaiting() { waitable_ = false; }
  // From now on, completions tell their source. That of a write with data is a peer in this vector,
  // if only this one is used, and unknown with null.
  void readSourcesOf(const std::shared_ptr<AddressVector>& vector);
  // The peer handle of a write's source; 0 if it is unknown.
  uint32_t peerOf(fi_addr_t source) const;
  // Cancels the waits for arrivals.
  void cancelWaits();

  uint32_t handle = 0;
  uint32_t endpoints = 0;        // open endpoints that report here, counted once per direction
  uint32_t stagedEndpoints = 0;  // of these, endpoints that receive into the package's own memory
  bool readSources = false;      // an endpoint with FI_SOURCE reports here
  bool dataConsumes = false;     // an endpoint with the mode FI_RX_CQ_DATA reports here
  bool broken = false;           // fi_cq_read failed permanently ...
  int brokenBy = FI_EOTHER;      // ... with this error
  Immediates immediates;
  std::array<fi_cq_tagged_entry, kReadBatch> entries;
  std::array<fi_addr_t, kReadBatch> sources;

 protected:
  int closeSelf() override;

 private:
  Engine& engine_;
  Fid<fid_cq> cq_;
  fi_cq_format format_;
  size_t entrySize_;
  size_t size_;
  bool waitable_;
  std::weak_ptr<AddressVector> vector_;
};

}  // namespace fab
