#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "arguments.h"
#include "descriptor.h"
#include "exports.h"
#include "registrations.h"
#include "worker_end.h"

// Memory of an accelerator for JavaScript: allocate(), free(), fill(), write(), read(), and its
// dmabufs.
//
// A Vendor also has kTag, kDmabufTag, kIface (enum fi_hmem_iface), kMemory (the name of the class
// of JavaScript) and the type Allocation:
//   Allocation(int device, size_t length)
//   pointer(), length(), freed()
//   fill(value, offset, length), write(offset, bytes, length), read(offset, bytes, length)
//   free(), and abandon(), which leaves the memory allocated until the process ends
namespace accelerator {

constexpr uint64_t kMaxSafe = (uint64_t{1} << 53) - 1;

struct Dmabuf {
  int fd;           // the caller's
  uint64_t offset;  // of the address, in the dmabuf
};

template <typename Vendor>
class Memory {
 public:
  static void exportTo(Napi::Object exports) {
    exportFunction<Vendor, allocate>(exports, "allocate");
    exportFunction<Vendor, free>(exports, "free");
    exportFunction<Vendor, fill>(exports, "fill");
    exportFunction<Vendor, write>(exports, "write");
    exportFunction<Vendor, read>(exports, "read");
    exportFunction<Vendor, isInUse>(exports, "isInUse");
    exportFunction<Vendor, exportDmabuf>(exports, "exportDmabuf");
    exportFunction<Vendor, closeDmabuf>(exports, "closeDmabuf");
  }

 private:
  using Allocation = typename Vendor::Allocation;
  using Handle = Napi::External<Allocation>;

  using DmabufHandle = Napi::External<Descriptor>;

  static bool isRegistered(const Allocation& allocation) {
    return accelerator::isRegistered(Vendor::kIface, allocation.pointer(), allocation.length());
  }

  // Memory that is garbage collected stays allocated: a NIC may still write to it.
  static void collected(Napi::BasicEnv, Allocation* held) {
    const std::unique_ptr<Allocation> allocation(held);
    const bool unused = workerEnds() && !allocation->freed() && !isRegistered(*allocation);
    if (!unused) allocation->abandon();
  }

  // A descriptor that is garbage collected stays open: the program may still use its number.
  static void collectedDmabuf(Napi::BasicEnv, Descriptor* held) {
    const std::unique_ptr<Descriptor> descriptor(held);
    if (!workerEnds()) descriptor->abandon();
  }

  static Allocation& unwrap(const Napi::Value& value) {
    if (!value.IsExternal() || !value.As<Handle>().CheckTypeTag(&Vendor::kTag)) {
      refuseType("memory", "a handle of memory");
    }
    Allocation& allocation = *value.As<Handle>().Data();
    if (allocation.freed()) {
      throw fab::Misuse(fab::Misuse::Kind::kState, "ERR_CLOSED",
                        std::string(Vendor::kMemory) + " is closed");
    }
    return allocation;
  }

  static size_t offsetFrom(const Napi::Value& value, const Allocation& allocation) {
    return integerFrom(value, "offset", allocation.length());
  }

  static void checkEnd(size_t offset, size_t length, const Allocation& allocation) {
    if (length <= allocation.length() - offset) return;
    throw fab::Misuse(fab::Misuse::Kind::kRange, "ERR_OUT_OF_RANGE",
                      "the range must end within the memory of " +
                          std::to_string(allocation.length()) + " bytes");
  }

  // allocate(device, byteLength): { handle, pointer }
  static Napi::Value allocate(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    const auto device = static_cast<int>(integerFrom(info[0], "device", INT32_MAX));
    const size_t length = integerFrom(info[1], "byteLength", kMaxSafe);
    auto allocation = std::make_unique<Allocation>(device, length);
    const uint64_t pointer = allocation->pointer();
    Handle handle = Handle::New(env, allocation.get(), collected);
    static_cast<void>(allocation.release());
    handle.TypeTag(&Vendor::kTag);
    Napi::Object result = Napi::Object::New(env);
    result.Set("handle", handle);
    result.Set("pointer", Napi::BigInt::New(env, pointer));
    return result;
  }

  // free(handle)
  static Napi::Value free(const Napi::CallbackInfo& info) {
    unwrap(info[0]).free();
    return info.Env().Undefined();
  }

  // isInUse(handle): whether this process has registered the memory by its pointer
  static Napi::Value isInUse(const Napi::CallbackInfo& info) {
    return Napi::Boolean::New(info.Env(), isRegistered(unwrap(info[0])));
  }

  // fill(handle, value, offset, length)
  static Napi::Value fill(const Napi::CallbackInfo& info) {
    Allocation& allocation = unwrap(info[0]);
    const auto value = static_cast<uint8_t>(integerFrom(info[1], "value", UINT8_MAX));
    const size_t offset = offsetFrom(info[2], allocation);
    const size_t length = integerFrom(info[3], "length", kMaxSafe);
    checkEnd(offset, length, allocation);
    if (length > 0) allocation.fill(value, offset, length);
    return info.Env().Undefined();
  }

  // write(handle, offset, bytes)
  static Napi::Value write(const Napi::CallbackInfo& info) {
    Allocation& allocation = unwrap(info[0]);
    const size_t offset = offsetFrom(info[1], allocation);
    const Napi::Uint8Array bytes = bytesFrom(info[2], "bytes");
    checkEnd(offset, bytes.ByteLength(), allocation);
    if (bytes.ByteLength() > 0) allocation.write(offset, bytes.Data(), bytes.ByteLength());
    return info.Env().Undefined();
  }

  // read(handle, offset, bytes)
  static Napi::Value read(const Napi::CallbackInfo& info) {
    const Allocation& allocation = unwrap(info[0]);
    const size_t offset = offsetFrom(info[1], allocation);
    Napi::Uint8Array bytes = bytesFrom(info[2], "bytes");
    checkEnd(offset, bytes.ByteLength(), allocation);
    if (bytes.ByteLength() > 0) allocation.read(offset, bytes.Data(), bytes.ByteLength());
    return info.Env().Undefined();
  }

  // exportDmabuf(device, pointer, byteLength): { handle, fd, offset }
  static Napi::Value exportDmabuf(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    const auto device = static_cast<int>(integerFrom(info[0], "device", INT32_MAX));
    const uint64_t pointer = addressFrom(info[1], "pointer");
    const size_t length = integerFrom(info[2], "byteLength", kMaxSafe);
    const Dmabuf dmabuf = Vendor::exportDmabuf(device, pointer, length);
    auto descriptor = std::make_unique<Descriptor>(dmabuf.fd);
    DmabufHandle handle = DmabufHandle::New(env, descriptor.get(), collectedDmabuf);
    static_cast<void>(descriptor.release());
    handle.TypeTag(&Vendor::kDmabufTag);
    Napi::Object result = Napi::Object::New(env);
    result.Set("handle", handle);
    result.Set("fd", dmabuf.fd);
    result.Set("offset", Napi::Number::New(env, static_cast<double>(dmabuf.offset)));
    return result;
  }

  // closeDmabuf(handle): nothing if it was closed
  static Napi::Value closeDmabuf(const Napi::CallbackInfo& info) {
    const Napi::Value& value = info[0];
    if (!value.IsExternal() || !value.As<DmabufHandle>().CheckTypeTag(&Vendor::kDmabufTag)) {
      refuseType("dmabuf", "a handle of a dmabuf");
    }
    value.As<DmabufHandle>().Data()->close();
    return info.Env().Undefined();
  }
};

}  // namespace accelerator
