#pragma once

#include <napi.h>

#include <cstddef>
#include <memory>

namespace fab {

// Keeps the memory of an ArrayBuffer where it is, whoever else has let go of it.
using Backing = std::shared_ptr<void>;

// Streams, structuredClone() and transfer() detach ArrayBuffers: the memory goes to another owner,
// who may free it at once. So a reference to the ArrayBuffer keeps no memory alive, and Node-API
// has nothing that does. V8 has: its backing stores are counted.
//
// These are used where the runtime is Node.js itself, in a build that uses the same C++ library as
// this addon. Elsewhere only memory is accepted that nobody can detach.

// Throws Misuse where backing stores can't be used.
void requireBackingStores(Napi::Env env, const char* what);

// The memory of an ArrayBuffer or a SharedArrayBuffer. Null for a SharedArrayBuffer where the
// runtime can't hold it: its memory stays as long as JavaScript refers to it. Throws Misuse for an
// ArrayBuffer there.
Backing backingOf(Napi::Env env, const Napi::Value& buffer, const char* name);

// An ArrayBuffer, or a SharedArrayBuffer, over memory that `backing` keeps. It can be detached and
// transferred, to other threads too. A SharedArrayBuffer needs requireBackingStores().
Napi::Value toBuffer(Napi::Env env, const Backing& backing, void* data, size_t length,
                     bool shared = false);

}  // namespace fab
