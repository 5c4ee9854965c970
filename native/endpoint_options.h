#pragma once

#include <napi.h>
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

std::vector<EndpointOption> endpointOptionsFromJs(const Napi::Array& list);
void setEndpointOptions(fid_ep* ep, const std::vector<EndpointOption>& options);

void exportEndpointOptions(Napi::Object exports);

}  // namespace fab
