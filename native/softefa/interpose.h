#pragma once

#include <infiniband/verbs.h>

// interpose_*.cc define the symbols of libibverbs that softefa replaces; efadv.cc defines those of
// libefa. The symbols have no versions, so they satisfy references to any version.

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define SOFTEFA_EXPORT extern "C" __attribute__((visibility("default")))
