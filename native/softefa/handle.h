#pragma once

#include <memory>

namespace softefa {

// A structure of verbs.h as a caller holds it, and the object that it stands for.
template <class Verbs, class Owner>
struct Handle {
  explicit Handle(Owner& object) : owner(&object) {}
  Handle(const Handle&) = delete;

  static Owner& ownerOf(void* verbs) { return *static_cast<Handle*>(verbs)->owner; }

  Verbs verbs{};  // first
  Owner* owner;
};

// Callers own what the verbs API made for them, until they hand it back.
template <class T>
void destroy(T& object) {
  const std::unique_ptr<T> owner(&object);
}

}  // namespace softefa
