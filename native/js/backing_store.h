#pragma once

#include <napi.h>

#include <cstddef>

#include "../util/backing.h"

namespace fab {

// Streams, structuredClone() and transfer() detach ArrayBuffers: the memory gets another owner,
// which may free it at once. A reference to the ArrayBuffer therefore does not keep the memory
// alive, and Node-API has no reference that does. V8 has one: its backing stores are
// reference-counted.
//
// The addon uses backing stores only if the runtime is Node.js itself, built with the same C++
// library as this addon. In other runtimes it accepts only memory that cannot be detached.

// Throws Misuse if backing stores cannot be used.
void requireBackingStores(Napi::Env env, const char* what);

// The memory of an ArrayBuffer or a SharedArrayBuffer. If the runtime cannot hold backing stores,
// throws Misuse for an ArrayBuffer that toBuffer() has not made, and returns null for a
// SharedArrayBuffer, whose memory stays as long as JavaScript refers to it.
Backing backingOf(Napi::Env env, const Napi::Value& buffer, const char* name);

// A new ArrayBuffer or SharedArrayBuffer over the memory of `backing`. It can be detached and
// transferred, also to other threads. A SharedArrayBuffer needs requireBackingStores().
Napi::Value toBuffer(Napi::Env env, const Backing& backing, void* data, size_t length,
                     bool shared = false);

}  // namespace fab
