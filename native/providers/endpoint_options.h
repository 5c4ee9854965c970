#pragma once

#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <vector>

namespace fab {

// An option of an endpoint: fi_setopt(3).
struct EndpointOption {
  int level;
  int name;
  std::vector<uint8_t> value;
};

void setEndpointOptions(fid_ep* ep, const std::vector<EndpointOption>& options);

}  // namespace fab
