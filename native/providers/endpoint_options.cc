#include "endpoint_options.h"

#include "../util/error.h"

namespace fab {

void setEndpointOptions(fid_ep* ep, const std::vector<EndpointOption>& options) {
  for (const EndpointOption& option : options) {
    check(fi_setopt(&ep->fid, option.level, option.name, option.value.data(), option.value.size()),
          "fi_setopt");
  }
}

}  // namespace fab
