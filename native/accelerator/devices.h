#pragma once

#include <napi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "exports.h"

// The devices of an accelerator for JavaScript: devices().
//
// A Vendor also has listDevices(), which returns them.
namespace accelerator {

struct Device {
  int index;  // for allocate()
  std::string name;
  std::string pciAddress;  // "0000:53:00.0", or empty if the library does not tell it
  uint64_t memory;         // bytes
};

// As in sysfs.
std::string pciAddressOf(uint32_t domain, uint32_t bus, uint32_t device, uint32_t function);

template <typename Vendor>
Napi::Value devices(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array result = Napi::Array::New(env);
  for (const Device& each : Vendor::listDevices()) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("index", each.index);
    entry.Set("name", each.name);
    entry.Set("pciAddress", each.pciAddress);
    entry.Set("memory", Napi::Number::New(env, static_cast<double>(each.memory)));
    result.Set(result.Length(), entry);
  }
  return result;
}

}  // namespace accelerator
