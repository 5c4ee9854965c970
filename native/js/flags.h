#pragma once

#include <cstddef>
#include <cstdint>

// The names of libfabric's bits and enumerations; flags_js.h converts them from and to JavaScript.
// The same bit means different things in different words (bit 59 is FI_CONTEXT among the modes and
// FI_DIRECTED_RECV among the capabilities), so each word has its own table.
//
// The tables contain numbers, because they cover releases newer than the headers of the build.
namespace fab {

// `since` and `until` (FI_VERSION) are set if a release gave the bit another name.
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

// A table of bits. If a bit has several names, output uses the first and input accepts all. A bit
// without a name is 'bit 42' in both directions.
struct FlagTable {
  const char* id;
  NameList names;
};

// A table of enumerators. A value without a name is, for example, 'FI_ADDR_0x2a' in both
// directions.
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
extern const EnumTable kHmemIfaces;

}  // namespace fab
