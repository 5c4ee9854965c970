#pragma once

#include <functional>

namespace fab {

// Makes a query of fi_getinfo(3). efa of libfabric 1.17 frees what all its endpoints in the process
// use for shared memory when a query finds no entry of efa's, and makes it again with the next
// query (g_shm_info, prov/efa/src/efa_user_info.c): an engine that turned in between would crash.
// So their engines stand still meanwhile, and efa is asked for what it has before they go on.
int queryBesideEngines(const std::function<int()>& query);

}  // namespace fab
