#include <cstdlib>
#include <vector>

#include "../providers/abi.h"
#include "../providers/address_format.h"
#include "../util/error.h"
#include "flags_js.h"
#include "info_fields.h"
#include "info_js.h"
#include "values.h"

namespace fab {
namespace {

constexpr size_t kMaxString = 1024;
constexpr size_t kMaxBytes = 4096;

bool parseVersionPart(const std::string& digits, uint32_t* value) {
  if (digits.empty() || digits.size() > 5) return false;
  if (digits.find_first_not_of("0123456789") != std::string::npos) return false;
  *value = static_cast<uint32_t>(std::stoul(digits));
  return *value <= 0xffff;
}

uint32_t versionFromJs(const Napi::Value& value, const std::string& what) {
  const std::string text = stringFromJs(value, what, kMaxString);
  const size_t dot = text.find('.');
  uint32_t major = 0;
  uint32_t minor = 0;
  if (dot == std::string::npos || !parseVersionPart(text.substr(0, dot), &major) ||
      !parseVersionPart(text.substr(dot + 1), &minor)) {
    throwInvalidValue(what, "must be 'major.minor', got " + describe(value));
  }
  return FI_VERSION(major, minor);
}

Napi::Object plainObject(const Napi::Value& value, const std::string& what) {
  if (value.Type() != napi_object || value.IsArray() || value.IsBuffer() || value.IsTypedArray()) {
    throwInvalidType(what, "an object", value);
  }
  return value.As<Napi::Object>();
}

// Memory that fi_freeinfo(3) will free.
void* copyForInfo(const void* bytes, size_t length, size_t allocate) {
  void* copy = std::calloc(1, allocate);  // NOLINT(cppcoreguidelines-no-malloc)
  if (copy == nullptr) throw FabricFailure(FI_ENOMEM, "fi_allocinfo");
  if (length > 0) std::memcpy(copy, bytes, length);
  return copy;
}

void storeString(const Napi::Value& value, const Field& field, void* base,
                 const std::string& what) {
  if (value.IsNull()) return;
  const std::string text = stringFromJs(value, what, kMaxString);
  storeField(base, field.offset, copyForInfo(text.c_str(), text.size(), text.size() + 1));
}

void storeBytes(const Napi::Value& value, const Field& field, void* base, const std::string& what) {
  if (value.IsNull()) return;
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    throwInvalidType(what, "a Uint8Array", value);
  }
  const auto bytes = value.As<Napi::Uint8Array>();
  const size_t length = bytes.ByteLength();
  if (length == 0) throwInvalidValue(what, "is empty");
  if (length > kMaxBytes) throwInvalidValue(what, "has more than 4096 bytes");
  storeField(base, field.offset, copyForInfo(bytes.Data(), length, length));
  storeField(base, field.lengthOffset, length);
}

size_t contextsFromJs(const Napi::Value& value, const std::string& what) {
  if (!value.IsString()) return unsignedFromJs(value, what);
  if (stringFromJs(value, what, kMaxString) != "FI_SHARED_CONTEXT") {
    throwInvalidValue(what, "must be a count or 'FI_SHARED_CONTEXT', got " + describe(value));
  }
  return FI_SHARED_CONTEXT;
}

void storeFromJs(const Napi::Value& value, const Field& field, void* base,
                 const std::string& what) {
  switch (field.kind) {
    case FieldKind::kFlags:
      return storeField(base, field.offset, flagsFromJs(value, *field.flags, what));
    case FieldKind::kFlags32: {
      const uint64_t bits = flagsFromJs(value, *field.flags, what);
      if (bits > INT32_MAX) throwInvalidValue(what, "has bits above bit 30");
      return storeField(base, field.offset, static_cast<uint32_t>(bits));
    }
    case FieldKind::kEnum:
      return storeField(base, field.offset, enumFromJs(value, *field.names, what));
    case FieldKind::kContexts:
      return storeField(base, field.offset, contextsFromJs(value, what));
    case FieldKind::kSize:
    case FieldKind::kBig:
      return storeField(base, field.offset, unsignedFromJs(value, what));
    case FieldKind::kU32:
      return storeField(base, field.offset,
                        static_cast<uint32_t>(unsignedFromJs(value, what, UINT32_MAX)));
    case FieldKind::kVersion:
      return storeField(base, field.offset, versionFromJs(value, what));
    case FieldKind::kString:
      return storeString(value, field, base, what);
    case FieldKind::kBytes:
      return storeBytes(value, field, base, what);
  }
}

// Stores the value of a key if a field has this name.
bool storeByName(const std::string& key, const Napi::Value& value, const FieldList& fields,
                 void* base, const std::string& path) {
  for (const auto& field : fields) {
    if (key != field.name || field.outputOnly) continue;
    if (!isPresent(field)) {
      throwInvalidValue(path, "needs libfabric " + versionText(field.since));
    }
    if (field.since > kHeaders) {
      throwInvalidValue(
          path, "needs an addon built with the headers of libfabric " + versionText(field.since));
    }
    storeFromJs(value, field, base, path);
    return true;
  }
  return false;
}

[[noreturn]] void throwUnknownKey(const std::string& key, const std::string& path,
                                  const std::vector<NamedValue>& known) {
  const std::string nearest = nearestNames(key.substr(0, 64), {known.data(), known.size()});
  throwInvalidValue(path, "has no member " + quoted(key) + "; did you mean " + nearest + "?");
}

void addNames(std::vector<NamedValue>* names, const FieldList& fields) {
  for (const auto& field : fields) {
    if (!field.outputOnly) names->push_back({field.name, 0});
  }
}

// Calls visit(key, value) for every member that is present and not undefined.
template <typename Visit>
void forEachMember(const Napi::Object& object, Visit visit) {
  const auto keys = object.GetPropertyNames();
  for (uint32_t i = 0; i < keys.Length(); ++i) {
    const std::string key = keys.Get(i).ToString();
    const Napi::Value value = object.Get(key);
    if (!value.IsUndefined()) visit(key, value);
  }
}

void readAttr(const Napi::Value& value, const AttrStruct& attr, void* base,
              const std::string& path) {
  forEachMember(plainObject(value, path), [&](const std::string& key, const Napi::Value& member) {
    if (storeByName(key, member, attr.fields, base, path + "." + key)) return;
    std::vector<NamedValue> names;
    addNames(&names, attr.fields);
    throwUnknownKey(key, path, names);
  });
}

bool readAttrByName(const std::string& key, const Napi::Value& value, fi_info* hints,
                    const std::string& path) {
  for (const auto& attr : kAttrStructs) {
    if (key != attr.name) continue;
    readAttr(value, attr, loadField<void*>(hints, attr.offset), path);
    return true;
  }
  return false;
}

uint32_t apiVersionFromJs(const Napi::Value& value, const std::string& path) {
  const uint32_t version = versionFromJs(value, path);
  if (version < kOldestApi || version > apiVersion()) {
    throwOutOfRange(path, "from " + versionText(kOldestApi) + " to " + versionText(apiVersion()),
                    value);
  }
  return version;
}

uint64_t getInfoFlagsFromJs(const Napi::Value& value, const std::string& path) {
  const uint64_t flags = flagsFromJs(value, kGetInfoFlags, path);
  uint64_t known = 0;
  for (const auto& entry : kGetInfoFlags.names) known |= entry.value;
  // The other bits are internal to libfabric.
  if ((flags & ~known) != 0)
    throwInvalidValue(path, "has a bit that fi_getinfo(3) does not define");
  return flags;
}

bool readArgument(const std::string& key, const Napi::Value& value, InfoRequest* request,
                  const std::string& path) {
  if (key == "apiVersion") {
    request->version = apiVersionFromJs(value, path);
  } else if (key == "node") {
    request->node = stringFromJs(value, path, kMaxString);
  } else if (key == "service") {
    request->service = stringFromJs(value, path, kMaxString);
  } else if (key == "flags") {
    request->flags = getInfoFlagsFromJs(value, path);
  } else {
    return false;
  }
  return true;
}

InfoPtr emptyHints() {
  InfoPtr hints(fi_allocinfo());
  if (!hints) throw FabricFailure(FI_ENOMEM, "fi_allocinfo");
  return hints;
}

InfoPtr defaultHints() {
  InfoPtr hints = emptyHints();
  hints->mode = kHandledModes;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->mr_mode = kHandledMrModes;
  return hints;
}

// All modes except FI_MR_BASIC and FI_MR_SCALABLE. These two are from before 1.5 and cannot be
// combined with others, and the headers of libfabric 2 warn about their names.
InfoPtr widestHints() {
  InfoPtr hints = emptyHints();
  hints->mode = ~uint64_t{0};
  hints->domain_attr->mode = ~uint64_t{0};
  hints->domain_attr->mr_mode = ~3;
  return hints;
}

void checkHintAddresses(const fi_info& hints) {
  const auto check = [&](const void* bytes, size_t length, const char* what) {
    if (bytes == nullptr) return;
    checkAddress(hints.addr_format, static_cast<const uint8_t*>(bytes), length, what);
  };
  check(hints.src_addr, hints.src_addrlen, "hints.srcAddr");
  check(hints.dest_addr, hints.dest_addrlen, "hints.destAddr");
}

// Reads the members of an object into a request. Returns whether it has hints besides the arguments
// of fi_getinfo(3).
bool readRequest(const Napi::Value& value, InfoRequest* request) {
  bool hinted = false;
  forEachMember(plainObject(value, "hints"), [&](const std::string& key,
                                                 const Napi::Value& member) {
    const std::string path = "hints." + key;
    fi_info* hints = request->hints.get();
    if (readArgument(key, member, request, path)) return;
    hinted = true;
    if (storeByName(key, member, kInfoFields, hints, path)) return;
    if (readAttrByName(key, member, hints, path)) return;
    std::vector<NamedValue> names = {{"apiVersion", 0}, {"node", 0}, {"service", 0}, {"flags", 0}};
    addNames(&names, kInfoFields);
    for (const auto& attr : kAttrStructs) names.push_back({attr.name, 0});
    throwUnknownKey(key, "hints", names);
  });
  checkHintAddresses(*request->hints);
  return hinted;
}

}  // namespace

InfoRequest requestFromJs(const Napi::Value& value) {
  InfoRequest request;
  if (value.IsNull()) return request;
  request.hints = defaultHints();
  if (!value.IsUndefined()) readRequest(value, &request);
  // Without FI_HMEM, shm (1.17 to 2.6) has another entry for this mode.
  int& mrMode = request.hints->domain_attr->mr_mode;
  if ((request.hints->caps & FI_HMEM) != 0 && mrMode == kHandledMrModes) mrMode |= FI_MR_HMEM;
  const fi_ep_type type = request.hints->ep_attr->type;
  if (type != FI_EP_UNSPEC && type != FI_EP_DGRAM) withoutPrefix(*request.hints);
  return request;
}

InfoRequest queryFromJs(const Napi::Value& value) {
  InfoRequest request;
  request.hints = widestHints();
  if (!readRequest(value, &request)) request.hints.reset();
  return request;
}

}  // namespace fab
