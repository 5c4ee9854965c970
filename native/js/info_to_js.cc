#include "flags_js.h"
#include "info_fields.h"
#include "info_js.h"
#include "values.h"

namespace fab {
namespace {

Napi::Value stringToJs(Napi::Env env, const char* text) {
  if (text == nullptr) return env.Null();
  return Napi::String::New(env, text);
}

Napi::Value bytesToJs(Napi::Env env, const void* bytes, size_t length) {
  if (bytes == nullptr) return env.Null();
  auto array = Napi::Uint8Array::New(env, length);
  if (length > 0) std::memcpy(array.Data(), bytes, length);
  return array;
}

Napi::Value versionToJs(Napi::Env env, uint32_t version) {
  return Napi::String::New(
      env, std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version)));
}

Napi::Value fieldToJs(Napi::Env env, const Field& field, const void* base) {
  switch (field.kind) {
    case FieldKind::kFlags:
      return flagsToJs(env, *field.flags, loadField<uint64_t>(base, field.offset));
    case FieldKind::kFlags32:
      return flagsToJs(env, *field.flags, loadField<uint32_t>(base, field.offset));
    case FieldKind::kEnum:
      return enumToJs(env, *field.names, loadField<uint32_t>(base, field.offset));
    case FieldKind::kContexts:
      if (loadField<size_t>(base, field.offset) == FI_SHARED_CONTEXT) {
        return Napi::String::New(env, "FI_SHARED_CONTEXT");
      }
      [[fallthrough]];
    case FieldKind::kSize:
      return sizeToJs(env, loadField<size_t>(base, field.offset));
    case FieldKind::kBig:
      return Napi::BigInt::New(env, loadField<uint64_t>(base, field.offset));
    case FieldKind::kU32:
      return Napi::Number::New(env, loadField<uint32_t>(base, field.offset));
    case FieldKind::kVersion:
      return versionToJs(env, loadField<uint32_t>(base, field.offset));
    case FieldKind::kString:
      return stringToJs(env, loadField<const char*>(base, field.offset));
    case FieldKind::kBytes:
      return bytesToJs(env, loadField<const void*>(base, field.offset),
                       loadField<size_t>(base, field.lengthOffset));
  }
  return env.Undefined();
}

void setFields(Napi::Object object, const FieldList& fields, const void* base) {
  for (const auto& field : fields) {
    if (isPresent(field)) object.Set(field.name, fieldToJs(object.Env(), field, base));
  }
}

Napi::Value structToJs(Napi::Env env, const FieldList& fields, const void* base) {
  if (base == nullptr) return env.Null();
  auto object = Napi::Object::New(env);
  setFields(object, fields, base);
  object.Freeze();
  return object;
}

Napi::Value busToJs(Napi::Env env, const fi_bus_attr* bus) {
  if (bus == nullptr) return env.Null();
  auto object = Napi::Object::New(env);
  object.Set("busType", enumToJs(env, kBusTypes, bus->bus_type));
  object.Set("pci", env.Null());
  if (bus->bus_type == FI_BUS_PCI) {
    const auto& pci = bus->attr.pci;
    auto location = Napi::Object::New(env);
    location.Set("domainId", pci.domain_id);
    location.Set("busId", pci.bus_id);
    location.Set("deviceId", pci.device_id);
    location.Set("functionId", pci.function_id);
    location.Freeze();
    object.Set("pci", location);
  }
  object.Freeze();
  return object;
}

Napi::Value nicToJs(Napi::Env env, const fid_nic* nic) {
  if (nic == nullptr) return env.Null();
  auto object = Napi::Object::New(env);
  object.Set("deviceAttr", structToJs(env, kDeviceFields, nic->device_attr));
  object.Set("busAttr", busToJs(env, nic->bus_attr));
  object.Set("linkAttr", structToJs(env, kLinkFields, nic->link_attr));
  object.Freeze();
  return object;
}

}  // namespace

Napi::Object infoToJs(Napi::Env env, const fi_info& info) {
  // Replaces an attribute structure that a provider omitted.
  static const InfoPtr empty(fi_allocinfo());
  auto object = Napi::Object::New(env);
  setFields(object, kInfoFields, &info);
  for (const auto& attr : kAttrStructs) {
    const void* base = loadField<const void*>(&info, attr.offset);
    if (base == nullptr && empty) base = loadField<const void*>(empty.get(), attr.offset);
    object.Set(attr.name, structToJs(env, attr.fields, base));
  }
  object.Set("nic", nicToJs(env, info.nic));
  object.Freeze();
  return object;
}

}  // namespace fab
