#pragma once

#include <napi.h>

#include <vector>

#include "../providers/endpoint_options.h"

namespace fab {

// From { level, name, value }[]: src/endpoint/endpoint-options.ts.
std::vector<EndpointOption> endpointOptionsFromJs(const Napi::Array& list);

}  // namespace fab
