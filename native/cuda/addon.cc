// The addon of libfabric/cuda: a few calls of the CUDA driver, without libfabric. Errors have
// `result` and `syscall`, or `missing` if the driver is not installed or too old, or the code of a
// wrong argument.
#include <napi.h>

#include <cstring>
#include <memory>

#include "allocation.h"
#include "arguments.h"
#include "pointer.h"

namespace cuda {
namespace {

constexpr uint64_t kMaxSafe = (uint64_t{1} << 53) - 1;
constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6375646100000001};

using Handle = Napi::External<Allocation>;

// What the garbage collector finds stays allocated: a NIC may still write to it.
void collected(Napi::BasicEnv, Allocation* held) {
  const std::unique_ptr<Allocation> allocation(held);
  allocation->abandon();
}

Allocation& unwrap(const Napi::Value& value) {
  if (!value.IsExternal() || !value.As<Handle>().CheckTypeTag(&kTag)) {
    refuseType("memory", "a handle of memory");
  }
  Allocation& allocation = *value.As<Handle>().Data();
  if (allocation.freed()) {
    throw Misuse(Misuse::Kind::kState, "ERR_CLOSED", "CudaMemory is closed");
  }
  return allocation;
}

size_t offsetFrom(const Napi::Value& value, const Allocation& allocation) {
  return integerFrom(value, "offset", allocation.length());
}

void checkEnd(size_t offset, size_t length, const Allocation& allocation) {
  if (length <= allocation.length() - offset) return;
  throw Misuse(
      Misuse::Kind::kRange, "ERR_OUT_OF_RANGE",
      "the range must end within the memory of " + std::to_string(allocation.length()) + " bytes");
}

// driverVersion(): 12040 is 12.4.
Napi::Value driverVersion(const Napi::CallbackInfo& info) {
  int version = 0;
  Driver::get().driverGetVersion(&version);
  return Napi::Number::New(info.Env(), version);
}

// devices(): one object for each device.
Napi::Value devices(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array result = Napi::Array::New(env);
  for (const DeviceDescription& each : listDevices()) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("name", each.name);
    entry.Set("pciBusId", each.pciBusId);
    entry.Set("memory", Napi::Number::New(env, static_cast<double>(each.memory)));
    entry.Set("major", each.major);
    entry.Set("minor", each.minor);
    entry.Set("gpuDirectRdma", each.gpuDirectRdma);
    entry.Set("dmabuf", each.dmabuf);
    result.Set(result.Length(), entry);
  }
  return result;
}

// allocate(device, byteLength): { handle, pointer }
Napi::Value allocate(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto device = static_cast<int>(integerFrom(info[0], "device", INT32_MAX));
  const size_t length = integerFrom(info[1], "byteLength", kMaxSafe);
  auto allocation = std::make_unique<Allocation>(device, length);
  const DevicePointer pointer = allocation->pointer();
  Handle handle = Handle::New(env, allocation.get(), collected);
  static_cast<void>(allocation.release());
  handle.TypeTag(&kTag);
  Napi::Object result = Napi::Object::New(env);
  result.Set("handle", handle);
  result.Set("pointer", Napi::BigInt::New(env, pointer));
  return result;
}

// free(handle)
Napi::Value free(const Napi::CallbackInfo& info) {
  unwrap(info[0]).free();
  return info.Env().Undefined();
}

// fill(handle, value, offset, length)
Napi::Value fill(const Napi::CallbackInfo& info) {
  Allocation& allocation = unwrap(info[0]);
  const auto value = static_cast<unsigned char>(integerFrom(info[1], "value", UINT8_MAX));
  const size_t offset = offsetFrom(info[2], allocation);
  const size_t length = integerFrom(info[3], "length", kMaxSafe);
  checkEnd(offset, length, allocation);
  if (length > 0) allocation.fill(value, offset, length);
  return info.Env().Undefined();
}

// write(handle, offset, bytes)
Napi::Value write(const Napi::CallbackInfo& info) {
  Allocation& allocation = unwrap(info[0]);
  const size_t offset = offsetFrom(info[1], allocation);
  const Napi::Uint8Array bytes = bytesFrom(info[2], "bytes");
  checkEnd(offset, bytes.ByteLength(), allocation);
  if (bytes.ByteLength() > 0) allocation.write(offset, bytes.Data(), bytes.ByteLength());
  return info.Env().Undefined();
}

// read(handle, offset, bytes)
Napi::Value read(const Napi::CallbackInfo& info) {
  const Allocation& allocation = unwrap(info[0]);
  const size_t offset = offsetFrom(info[1], allocation);
  Napi::Uint8Array bytes = bytesFrom(info[2], "bytes");
  checkEnd(offset, bytes.ByteLength(), allocation);
  if (bytes.ByteLength() > 0) allocation.read(offset, bytes.Data(), bytes.ByteLength());
  return info.Env().Undefined();
}

// pointerAttributes(pointer): undefined if the driver does not know the address.
Napi::Value pointerAttributes(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto found = attributesOf(addressFrom(info[0], "pointer"));
  if (!found) return env.Undefined();
  Napi::Object result = Napi::Object::New(env);
  result.Set("onHost", found->onHost);
  result.Set("managed", found->managed);
  result.Set("device", found->device);
  result.Set("start", Napi::BigInt::New(env, found->start));
  result.Set("byteLength", Napi::Number::New(env, static_cast<double>(found->length)));
  return result;
}

// exportDmabuf(device, pointer, byteLength): { fd, offset }
Napi::Value exportDmabuf(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto device = static_cast<int>(integerFrom(info[0], "device", INT32_MAX));
  const DevicePointer pointer = addressFrom(info[1], "pointer");
  const size_t length = integerFrom(info[2], "byteLength", kMaxSafe);
  const Dmabuf dmabuf = cuda::exportDmabuf(device, pointer, length);
  Napi::Object result = Napi::Object::New(env);
  result.Set("fd", dmabuf.fd);
  result.Set("offset", Napi::Number::New(env, static_cast<double>(dmabuf.offset)));
  return result;
}

[[noreturn]] void throwMisuse(Napi::Env env, const Misuse& misuse) {
  const char* text = misuse.what();
  Napi::Error error = misuse.kind == Misuse::Kind::kType    ? Napi::TypeError::New(env, text)
                      : misuse.kind == Misuse::Kind::kRange ? Napi::RangeError::New(env, text)
                                                            : Napi::Error::New(env, text);
  error.Set("code", misuse.code);
  throw error;
}

// The driver's name or text of a result. Empty if it does not know the result.
std::string textOf(const Call<Result, const char**>& lookUp, Result result) {
  const char* text = nullptr;
  const bool found = lookUp.attempt(result, &text) == kSuccess && text != nullptr;
  return found ? text : "";
}

[[noreturn]] void throwFailure(Napi::Env env, const CudaFailure& failure) {
  const Driver& driver = Driver::loaded();
  Napi::Error error = Napi::Error::New(env, textOf(driver.getErrorString, failure.result));
  error.Set("result", Napi::Number::New(env, failure.result));
  error.Set("syscall", failure.syscall);
  error.Set("resultName", textOf(driver.getErrorName, failure.result));
  throw error;
}

[[noreturn]] void throwMissing(Napi::Env env, const DriverMissing& missing) {
  Napi::Error error = Napi::Error::New(env, missing.what());
  error.Set("missing", missing.symbol == nullptr ? "libcuda.so.1" : missing.symbol);
  throw error;
}

// A function for JavaScript, with C++ exceptions as errors.
template <Napi::Value (*function)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    return function(info);
  } catch (const Misuse& misuse) {
    throwMisuse(info.Env(), misuse);
  } catch (const CudaFailure& failure) {
    throwFailure(info.Env(), failure);
  } catch (const DriverMissing& missing) {
    throwMissing(info.Env(), missing);
  } catch (const std::bad_alloc&) {
    throw Napi::Error::New(info.Env(), "out of memory");
  }
}

template <Napi::Value (*function)(const Napi::CallbackInfo&)>
void exportFunction(Napi::Object exports, const char* name) {
  exports.Set(name, Napi::Function::New<guarded<function>>(exports.Env(), name));
}

Napi::Object initialize(Napi::Env, Napi::Object exports) {
  exportFunction<driverVersion>(exports, "driverVersion");
  exportFunction<devices>(exports, "devices");
  exportFunction<allocate>(exports, "allocate");
  exportFunction<free>(exports, "free");
  exportFunction<fill>(exports, "fill");
  exportFunction<write>(exports, "write");
  exportFunction<read>(exports, "read");
  exportFunction<pointerAttributes>(exports, "pointerAttributes");
  exportFunction<exportDmabuf>(exports, "exportDmabuf");
  return exports;
}

}  // namespace
}  // namespace cuda

using cuda::initialize;
NODE_API_MODULE(NODE_GYP_MODULE_NAME, initialize)
