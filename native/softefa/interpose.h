#pragma once

#include <infiniband/verbs.h>

// interpose_*.cc define the symbols of libibverbs that softefa takes the place of, efadv.cc those
// of libefa. They bear no versions, which lets them satisfy a reference to any.

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define SOFTEFA_EXPORT extern "C" __attribute__((visibility("default")))
