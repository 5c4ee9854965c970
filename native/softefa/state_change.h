#pragma once

#include <infiniband/verbs.h>

namespace softefa {

// Checks ibv_modify_qp() for a queue pair in a state. Returns 0 or an errno.
int checkChange(ibv_qp_state state, const ibv_qp_attr& attributes, int mask, bool isUd);

}  // namespace softefa
