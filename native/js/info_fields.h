#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "flags.h"

// The members of fi_info and its attribute structures. The conversions to and from JavaScript both
// use these tables.
namespace fab {

enum class FieldKind {
  kFlags,     // uint64_t of bits: an array of names
  kFlags32,   // int of bits
  kEnum,      // enum or uint32_t: a name
  kSize,      // size_t: a number
  kContexts,  // size_t: a number or 'FI_SHARED_CONTEXT'
  kBig,       // size_t or uint64_t that may exceed 2^53: a bigint
  kU32,       // uint32_t: a number
  kVersion,   // uint32_t of FI_VERSION: 'major.minor'
  kString,    // char*: a string or null
  kBytes,     // void* and its size_t: a Uint8Array or null
};

struct Field {
  const char* name;
  FieldKind kind;
  size_t offset;
  const FlagTable* flags = nullptr;
  const EnumTable* names = nullptr;
  size_t lengthOffset = 0;
  uint32_t since = 0;       // the first libfabric whose structure has the member
  bool outputOnly = false;  // not a hint
};

struct FieldList {
  const Field* first;
  size_t count;
  const Field* begin() const { return first; }
  const Field* end() const { return first + count; }
};

// A structure that fi_info points to.
struct AttrStruct {
  const char* name;
  size_t offset;  // of the pointer in fi_info
  FieldList fields;
};

struct AttrStructs {
  const AttrStruct* first;
  size_t count;
  const AttrStruct* begin() const { return first; }
  const AttrStruct* end() const { return first + count; }
};

extern const FieldList kInfoFields;  // the members of fi_info itself
extern const AttrStructs kAttrStructs;
extern const FieldList kDeviceFields;
extern const FieldList kLinkFields;

// Whether the loaded libfabric has the member.
bool isPresent(const Field& field);

template <typename T>
T loadField(const void* base, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + offset, sizeof value);
  return value;
}

template <typename T>
void storeField(void* base, size_t offset, T value) {
  std::memcpy(static_cast<char*>(base) + offset, &value, sizeof value);
}

}  // namespace fab
