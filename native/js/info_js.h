#pragma once

#include <napi.h>

#include <cstdint>
#include <optional>
#include <string>

#include "../providers/abi.h"
#include "../providers/info.h"

namespace fab {

// The arguments of one fi_getinfo call. Without hints, providers report their defaults.
struct InfoRequest {
  uint32_t version = apiVersion();
  std::optional<std::string> node;
  std::optional<std::string> service;
  uint64_t flags = 0;
  InfoPtr hints;
};

// Converts the `hints` of getInfo. Throws Misuse with the path of the invalid member.
InfoRequest requestFromJs(const Napi::Value& hints);

// Converts the hints as fi_info(1) does: all modes by default, and no hints at all if only a node,
// a service or flags are given.
InfoRequest queryFromJs(const Napi::Value& hints);

// A deeply frozen object with all members of the entry except its handle.
Napi::Object infoToJs(Napi::Env env, const fi_info& info);

}  // namespace fab
