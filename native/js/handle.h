#pragma once

#include <napi.h>

#include <memory>
#include <string>
#include <utility>

#include "../util/error.h"

// A handle is JavaScript's reference to a native object: an external with a shared_ptr and the type
// tag of its class. A value that is not a handle of the class causes an error, never a crash.
//
// A class with handles must have: static constexpr napi_type_tag kTag; static constexpr const
// char* kName; and, if it can be closed, bool closed() const.
namespace fab {

template <typename T>
Napi::Value wrapHandle(Napi::Env env, std::shared_ptr<T> object) {
  auto holder = std::make_unique<std::shared_ptr<T>>(std::move(object));
  auto external = Napi::External<std::shared_ptr<T>>::New(
      env, holder.get(), [](Napi::BasicEnv, std::shared_ptr<T>* held) { delete held; });
  holder.release();
  external.TypeTag(&T::kTag);
  return external;
}

// The object behind a handle, open or closed.
template <typename T>
const std::shared_ptr<T>& unwrapAny(const Napi::Value& value) {
  if (!value.IsExternal()) {
    throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_TYPE",
                 std::string("expected a handle of ") + T::kName);
  }
  auto external = value.As<Napi::External<std::shared_ptr<T>>>();
  if (!external.CheckTypeTag(&T::kTag)) {
    throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_TYPE",
                 std::string("this handle is not a handle of ") + T::kName);
  }
  return *external.Data();
}

// The open object behind a handle. Throws if it is closed.
template <typename T>
const std::shared_ptr<T>& unwrap(const Napi::Value& value) {
  const auto& object = unwrapAny<T>(value);
  if (object->closed()) throwClosed(*object);
  return object;
}

}  // namespace fab
