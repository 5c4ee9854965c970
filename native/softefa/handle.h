#pragma once

#include <memory>

namespace softefa {

// A structure of verbs.h that a caller holds, and the object that it represents.
template <class Verbs, class Owner>
struct Handle {
  explicit Handle(Owner& object) : owner(&object) {}
  Handle(const Handle&) = delete;

  static Owner& ownerOf(void* verbs) { return *static_cast<Handle*>(verbs)->owner; }

  Verbs verbs{};     // first
  void* newer[8]{};  // null, for callers whose headers have more members
  Owner* owner;
};

// The caller owns an object that the verbs API created, until it destroys the object.
template <class T>
void destroy(T& object) {
  const std::unique_ptr<T> owner(&object);
}

}  // namespace softefa
