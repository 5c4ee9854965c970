#pragma once

#include <functional>

namespace fab {

// Runs a query of fi_getinfo(3) while the engines of efa endpoints are held. If a query finds no
// efa entry, efa of libfabric 1.17 frees the shm state that all its endpoints in the process use,
// and creates it again with the next query (g_shm_info, prov/efa/src/efa_user_info.c). An engine
// that ran in between would crash. Before the engines continue, this function makes a query that
// finds efa's entries.
int queryBesideEngines(const std::function<int()>& query);

}  // namespace fab
