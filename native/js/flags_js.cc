#include "flags_js.h"

#include <rdma/fabric.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <vector>

#include "addon.h"
#include "exports.h"
#include "values.h"

namespace fab {
namespace {

// The maximum length of a name. Longer strings are refused before they are compared or quoted.
constexpr size_t kMaxName = 64;

bool inUse(const NamedValue& entry) {
  static const uint32_t version = fi_version();
  return version >= entry.since && version < entry.until;
}

const NamedValue* findName(const NameList& names, const std::string& name) {
  for (const auto& entry : names) {
    if (inUse(entry) && name == entry.name) return &entry;
  }
  return nullptr;
}

// Parses the digits after `prefix`, to the end of the string.
bool parseSuffix(const std::string& text, const std::string& prefix, int base, uint64_t* value) {
  if (text.compare(0, prefix.size(), prefix) != 0) return false;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + prefix.size(), end, *value, base);
  return error == std::errc{} && stop == end;
}

size_t editDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string nameFromJs(const Napi::Value& value, const std::string& what) {
  if (!value.IsString()) throwInvalidType(what, "a string", value);
  size_t length = 0;
  napi_get_value_string_utf8(value.Env(), value, nullptr, 0, &length);
  if (length > kMaxName) {
    throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_VALUE",
                 what + " has " + std::to_string(length) + " bytes, which is too long for a name");
  }
  return value.As<Napi::String>();
}

[[noreturn]] void throwUnknownName(const std::string& what, const std::string& name,
                                   const NameList& names) {
  throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_VALUE",
               what + ": " + quoted(name) + " is not known; did you mean " +
                   nearestNames(name, names) + "?");
}

}  // namespace

std::string nearestNames(const std::string& wrong, const NameList& names) {
  std::vector<std::pair<size_t, const char*>> ranked;
  for (const auto& entry : names) {
    if (inUse(entry)) ranked.emplace_back(editDistance(wrong, entry.name), entry.name);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  ranked.resize(std::min<size_t>(ranked.size(), 3));
  std::string text;
  for (const auto& [distance, name] : ranked) {
    if (!text.empty()) text += ", ";
    text += std::string("'") + name + "'";
  }
  return text;
}

Napi::Array flagsToJs(Napi::Env env, const FlagTable& table, uint64_t bits) {
  auto array = Napi::Array::New(env);
  uint32_t length = 0;
  for (const auto& entry : table.names) {
    if ((bits & entry.value) == 0 || !inUse(entry)) continue;
    array.Set(length++, entry.name);
    bits &= ~entry.value;
  }
  for (int n = 0; bits != 0; ++n, bits >>= 1) {
    if (bits & 1) array.Set(length++, "bit " + std::to_string(n));
  }
  array.Freeze();
  return array;
}

uint64_t flagsFromJs(const Napi::Value& value, const FlagTable& table, const std::string& what) {
  if (!value.IsArray()) throwInvalidType(what, "an array of flag names", value);
  const auto array = value.As<Napi::Array>();
  uint64_t bits = 0;
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const std::string where = what + "[" + std::to_string(i) + "]";
    const std::string name = nameFromJs(array.Get(i), where);
    uint64_t number = 0;
    if (const auto* entry = findName(table.names, name)) {
      bits |= entry->value;
    } else if (parseSuffix(name, "bit ", 10, &number) && number < 64) {
      bits |= uint64_t{1} << number;
    } else {
      throwUnknownName(where, name, table.names);
    }
  }
  return bits;
}

Napi::String enumToJs(Napi::Env env, const EnumTable& table, uint32_t value) {
  for (const auto& entry : table.names) {
    if (entry.value == value) return Napi::String::New(env, entry.name);
  }
  char hex[16];
  std::snprintf(hex, sizeof hex, "0x%" PRIx32, value);
  return Napi::String::New(env, std::string(table.prefix) + hex);
}

uint32_t enumFromJs(const Napi::Value& value, const EnumTable& table, const std::string& what) {
  const std::string name = nameFromJs(value, what);
  if (const auto* entry = findName(table.names, name)) return static_cast<uint32_t>(entry->value);
  uint64_t number = 0;
  if (parseSuffix(name, std::string(table.prefix) + "0x", 16, &number) && number <= UINT32_MAX) {
    return static_cast<uint32_t>(number);
  }
  throwUnknownName(what, name, table.names);
}

namespace {

constexpr const FlagTable* kFlagTables[] = {
    &kCaps,      &kModes,      &kGetInfoFlags, &kOpFlags,  &kCompletionFlags,
    &kMsgOrders, &kCompOrders, &kMrModes,      &kMrAccess,
};

constexpr const EnumTable* kEnumTables[] = {
    &kEpTypes,       &kProtocols,      &kAddrFormats, &kAvTypes,    &kThreadings, &kProgresses,
    &kResourceMgmts, &kTrafficClasses, &kBusTypes,    &kLinkStates, &kCqFormats,  &kWaitObjs,
    &kDatatypes,     &kAtomicOps,      &kParamTypes,  &kHmemIfaces,
};

const FlagTable& tableById(const Napi::Value& id) {
  const std::string wanted = nameFromJs(id, "table");
  for (const auto* table : kFlagTables) {
    if (wanted == table->id) return *table;
  }
  throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_VALUE", "no flag table " + quoted(wanted));
}

// nameTables(): { flags: { caps: { FI_MSG: 2n, ... }, ... }, enums: { epType: {...}, ... } }
Napi::Value nameTables(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  const auto addAll = [env](Napi::Object group, const auto& tables) {
    for (const auto* table : tables) {
      auto entries = Napi::Object::New(env);
      for (const auto& entry : table->names) {
        if (inUse(entry)) entries.Set(entry.name, Napi::BigInt::New(env, entry.value));
      }
      entries.Freeze();
      group.Set(table->id, entries);
    }
    group.Freeze();
    return group;
  };
  auto all = Napi::Object::New(env);
  all.Set("flags", addAll(Napi::Object::New(env), kFlagTables));
  all.Set("enums", addAll(Napi::Object::New(env), kEnumTables));
  all.Freeze();
  return all;
}

// namesFromBits(table, bits: bigint): string[]
Napi::Value namesFromBits(const Napi::CallbackInfo& info) {
  const auto& table = tableById(info[0]);
  if (!info[1].IsBigInt()) throwInvalidType("bits", "a bigint", info[1]);
  bool lossless = false;
  return flagsToJs(info.Env(), table, info[1].As<Napi::BigInt>().Uint64Value(&lossless));
}

// bitsFromNames(table, names): bigint
Napi::Value bitsFromNames(const Napi::CallbackInfo& info) {
  const auto& table = tableById(info[0]);
  return Napi::BigInt::New(info.Env(), flagsFromJs(info[1], table, table.id));
}

// nearestNames(wrong, names): the three most similar names: "'FI_MSG', 'FI_RMA', 'FI_READ'"
Napi::Value nearestOf(const Napi::CallbackInfo& info) {
  const std::string wrong = nameFromJs(info[0], "wrong");
  if (!info[1].IsArray()) throwInvalidType("names", "an array of names", info[1]);
  const auto array = info[1].As<Napi::Array>();
  std::vector<std::string> names;
  for (uint32_t i = 0; i < array.Length(); ++i) names.push_back(nameFromJs(array.Get(i), "names"));
  std::vector<NamedValue> list;
  list.reserve(names.size());
  for (const auto& name : names) list.push_back({name.c_str(), 0});
  return Napi::String::New(info.Env(), nearestNames(wrong, {list.data(), list.size()}));
}

}  // namespace

void exportFlags(Napi::Object exports) {
  exportFunction<nameTables>(exports, "nameTables");
  exportFunction<namesFromBits>(exports, "namesFromBits");
  exportFunction<bitsFromNames>(exports, "bitsFromNames");
  exportFunction<nearestOf>(exports, "nearestNames");
}

}  // namespace fab
