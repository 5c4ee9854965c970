#pragma once

#include <napi.h>

#include "device.h"
#include "efa.h"

// Information of rdma-core as JavaScript objects. src/verbs/native.ts declares the fields.
namespace verbs {

Napi::Object toJs(Napi::Env env, const ibv_device_attr& attributes);
Napi::Object toJs(Napi::Env env, uint8_t number, const PortAttributes& attributes,
                  const std::vector<Gid>& gids);
Napi::Object toJs(Napi::Env env, const EfaAttributes& attributes);

}  // namespace verbs
