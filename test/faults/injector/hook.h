// Replaces the calls of one object of libfabric. An object has a pointer to a table of its calls.
// Its provider shares the table with other objects, so a hooked object points to a copy.
#pragma once

#include <rdma/fi_errno.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "plan.h"

namespace faults {

/** A copy of a table, and the table that it is a copy of. */
struct Copy {
  const void* original;
  alignas(std::max_align_t) unsigned char table[512];
};

inline Copy* copyOf(const void* table) {
  auto* bytes = static_cast<const unsigned char*>(table);
  return reinterpret_cast<Copy*>(const_cast<unsigned char*>(bytes - offsetof(Copy, table)));
}

template <typename Table>
const Table* original(const Table* copy) {
  return static_cast<const Table*>(copyOf(copy)->original);
}

/** A call of the table that an object points to. It is counted, and fails or calls the provider's
 * function. */
template <typename Object, auto Pointer, auto Member, Kind kind>
struct Hook;

template <typename Object, typename Table, Table* Object::*Pointer, typename Result, typename Self,
          typename... Arguments, Result (*Table::*Member)(Self*, Arguments...), Kind kind>
struct Hook<Object, Pointer, Member, kind> {
  static Result call(Self* self, Arguments... arguments) {
    const bool counts = isAddon(__builtin_return_address(0));
    if (counts) {
      const auto [fails, error] = decide(kind);
      if (fails) return -error;
    }
    const Table* table = original(reinterpret_cast<Object*>(self)->*Pointer);
    const Result result = (table->*Member)(self, arguments...);
    if (counts && result == -FI_EAGAIN) discount(kind);
    return result;
  }

  static void install(Table* table) {
    if (table->*Member != nullptr) table->*Member = call;
  }
};

/** Makes an object point to a copy of its table that `change` has changed. Objects with the same
 * table share the copy. */
template <typename Table, typename Change>
void replace(Table*& pointer, Change change) {
  static std::mutex mutex;
  static std::map<const Table*, Table*> copies;
  static std::set<const Table*> known;
  if (pointer == nullptr) return;
  const std::lock_guard lock(mutex);
  if (known.count(pointer) != 0) return;
  auto*& copy = copies[pointer];
  if (copy == nullptr) {
    auto* made = new Copy{pointer, {}};  // it lives as long as the provider's table
    std::memcpy(made->table, pointer, pointer->size);
    copy = reinterpret_cast<Table*>(made->table);
    change(copy);
    known.insert(copy);
  }
  pointer = copy;
}

}  // namespace faults
