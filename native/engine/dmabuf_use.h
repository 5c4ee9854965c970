#pragma once

#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <vector>

#include "../providers/endpoint_options.h"
#include "layout.h"

namespace fab {

// What an endpoint can do with a dmabuf whose provider takes it for host memory: the operations in
// which no code of the host touches the bytes.
//
// The efa provider registers a dmabuf with any libfabric from 1.20 on (efa_mr_reg_ibv_mr in
// prov/efa/src/efa_mr.c). Only FI_HMEM with an interface would tell it that the memory belongs to a
// device (efa_mr_hmem_setup), and for that libfabric must have been built with the device's
// library.
class DmabufUse {
 public:
  DmabufUse() = default;
  // Reads the endpoint's size of inline data, before its options change what the provider reports.
  DmabufUse(fid_ep* ep, const fi_info& info);
  // Reads the rest from the enabled endpoint and the options that were set.
  void update(fid_ep* ep, const std::vector<EndpointOption>& settings);

  // Why the operation cannot be posted; nullptr if it can.
  const char* whyNot(const Operation& operation) const;

 private:
  enum class Provider { kOther, kEfa, kDirect };

  const char* whyNotDirect(const Operation& operation) const;
  const char* whyNotEfa(const Operation& operation) const;

  Provider provider_ = Provider::kOther;
  size_t inlined_ = SIZE_MAX;  // the CPU copies messages of up to this many bytes
  bool sharesMemory_ = true;
  bool homogeneous_ = false;
  bool deviceReads_ = false;
  bool deviceWrites_ = false;
};

}  // namespace fab
