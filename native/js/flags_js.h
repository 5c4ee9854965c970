#pragma once

#include <napi.h>

#include <cstdint>
#include <string>

#include "flags.h"

namespace fab {

// A frozen array of names.
Napi::Array flagsToJs(Napi::Env env, const FlagTable& table, uint64_t bits);
// The bits of an array of names. `what` ("hints.caps") names the value in errors.
uint64_t flagsFromJs(const Napi::Value& value, const FlagTable& table, const std::string& what);

Napi::String enumToJs(Napi::Env env, const EnumTable& table, uint32_t value);
uint32_t enumFromJs(const Napi::Value& value, const EnumTable& table, const std::string& what);

// The names most similar to a wrong one, for an error: "'FI_MSG', 'FI_RMA'".
std::string nearestNames(const std::string& wrong, const NameList& names);

}  // namespace fab
