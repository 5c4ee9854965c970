#pragma once

#include <napi.h>

#include <cstdint>
#include <string>

// The names of libfabric's bits and enumerations, and their way in and out of JavaScript. The same
// bit means different things in different words (bit 59 is FI_CONTEXT among the modes and
// FI_DIRECTED_RECV among the capabilities), so there is a table for each word.
//
// Values are written as numbers: the tables cover releases newer than the headers built against.
namespace fab {

// `since` and `until` (FI_VERSION) are set where a release gave a bit to another name.
struct NamedValue {
  const char* name;
  uint64_t value;
  uint32_t since = 0;
  uint32_t until = UINT32_MAX;
};

struct NameList {
  const NamedValue* first;
  size_t count;
  const NamedValue* begin() const { return first; }
  const NamedValue* end() const { return first + count; }
};

// Bits. Of several names for one bit the first is reported and all are understood; a bit without a
// name reads 'bit 42', in both directions.
struct FlagTable {
  const char* id;
  NameList names;
};

// An enumeration. A value without a name reads, say, 'FI_ADDR_0x2a', in both directions.
struct EnumTable {
  const char* id;
  const char* prefix;
  NameList names;
};

extern const FlagTable kCaps;
extern const FlagTable kModes;
extern const FlagTable kGetInfoFlags;
extern const FlagTable kOpFlags;
extern const FlagTable kCompletionFlags;
extern const FlagTable kMsgOrders;
extern const FlagTable kCompOrders;
extern const FlagTable kMrModes;
extern const FlagTable kMrAccess;
extern const FlagTable kMrFlags;
extern const FlagTable kAvFlags;

extern const EnumTable kEpTypes;
extern const EnumTable kProtocols;
extern const EnumTable kAddrFormats;
extern const EnumTable kAvTypes;
extern const EnumTable kThreadings;
extern const EnumTable kProgresses;
extern const EnumTable kResourceMgmts;
extern const EnumTable kTrafficClasses;
extern const EnumTable kBusTypes;
extern const EnumTable kLinkStates;
extern const EnumTable kCqFormats;
extern const EnumTable kWaitObjs;
extern const EnumTable kDatatypes;
extern const EnumTable kAtomicOps;
extern const EnumTable kParamTypes;

// A frozen array of names.
Napi::Array flagsToJs(Napi::Env env, const FlagTable& table, uint64_t bits);
// Bits from an array of names; `what` ("hints.caps") names the value in the error.
uint64_t flagsFromJs(const Napi::Value& value, const FlagTable& table, const std::string& what);

Napi::String enumToJs(Napi::Env env, const EnumTable& table, uint32_t value);
uint32_t enumFromJs(const Napi::Value& value, const EnumTable& table, const std::string& what);

// The names nearest to a wrong one, for an error: "'FI_MSG', 'FI_RMA'".
std::string nearestNames(const std::string& wrong, const NameList& names);

// nameTables(): every table above, for the TypeScript side; namesFromBits(id, bits) and
// bitsFromNames(id, names) convert by one of them; nearestNames(wrong, names) is that above.
void exportFlags(Napi::Object exports);

}  // namespace fab
