#include "backing_store.h"

#include <dlfcn.h>

#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "../util/error.h"

namespace fab {

namespace {

// Stand-ins for v8::BackingStore and v8::Isolate.
struct Store;
struct Isolate;

// The functions of V8 that this file needs, looked up by name. They belong to V8's C++ interface,
// which Node-API does not declare. Including v8.h would tie the addon to one release of Node.js. A
// napi_value is the same as the `this` of V8's methods and as the v8::Local that they return.
struct V8 {
  using SharedStore = std::shared_ptr<Store>;
  // The caller takes over the pointer's target immediately.
  struct Leave {
    void operator()(Store*) const {}
  };
  using NewStore = std::unique_ptr<Store, Leave>;
  using Deleter = void (*)(void* data, size_t length, void* argument);

  // One kind of buffer: v8::ArrayBuffer or v8::SharedArrayBuffer.
  struct Kind {
    SharedStore (*getBackingStore)(napi_value buffer);
    NewStore (*newBackingStore)(void* data, size_t length, Deleter deleter, void* argument);
    napi_value (*make)(Isolate* isolate, SharedStore store);
  };

  Kind plain;
  Kind shared;
  Isolate* (*currentIsolate)();
  void (*destroyStore)(Store* store);
};

template <typename Function>
bool find(Function*& function, const std::string& name) {
  function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name.c_str()));
  return function != nullptr;
}

// The mangled name of New() contains its shared_ptr type. Only libstdc++'s (St10shared_ptr) is
// supported.
bool find(V8::Kind& kind, const std::string& prefix) {
  return find(kind.getBackingStore, prefix + "15GetBackingStoreEv") &&
         find(kind.newBackingStore, prefix + "15NewBackingStoreEPvmPFvS1_mS1_ES1_") &&
         find(kind.make, prefix + "3NewEPNS_7IsolateESt10shared_ptrINS_12BackingStoreEE");
}

// Other runtimes also report V8 names although they have an engine of their own.
bool isNode(Napi::Env env) {
  const auto versions =
      env.Global().Get("process").As<Napi::Object>().Get("versions").As<Napi::Object>();
  return versions.Has("node") && versions.Has("v8") && !versions.Has("bun") &&
         !versions.Has("deno");
}

std::unique_ptr<V8> findV8(Napi::Env env) {
  auto v8 = std::make_unique<V8>();
  const bool found = isNode(env) && find(v8->plain, "_ZN2v811ArrayBuffer") &&
                     find(v8->shared, "_ZN2v817SharedArrayBuffer") &&
                     find(v8->currentIsolate, "_ZN2v87Isolate10GetCurrentEv") &&
                     find(v8->destroyStore, "_ZN2v812BackingStoreD1Ev");
  return found ? std::move(v8) : nullptr;
}

const V8* v8(Napi::Env env) {
  static const V8* const functions = findV8(env).release();  // used during static destruction
  return functions;
}

[[noreturn]] void throwUnavailable(const std::string& text) {
  throw Misuse(Misuse::Kind::kState, "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", text);
}

// The memory of the ArrayBuffers that throughNodeApi() has made, by its address. Whoever holds a
// backing keeps the memory alive, so no other ArrayBuffer can have the address of an entry that has
// not expired.
class OwnMemory {
 public:
  void add(const void* data, const Backing& backing) {
    const std::scoped_lock lock(mutex_);
    backings_[data] = backing;
  }

  // Null if it is not memory of this addon.
  Backing find(const void* data) {
    const std::scoped_lock lock(mutex_);
    const auto found = backings_.find(data);
    return found == backings_.end() ? nullptr : found->second.lock();
  }

  // An ArrayBuffer was freed. Another one over the same memory keeps the entry.
  void forget(const void* data) {
    const std::scoped_lock lock(mutex_);
    const auto found = backings_.find(data);
    if (found != backings_.end() && found->second.expired()) backings_.erase(found);
  }

  static OwnMemory& instance() {
    static auto* const memory = new OwnMemory;  // finalizers may run at the end of the process
    return *memory;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, std::weak_ptr<Backing::element_type>> backings_;
};

Napi::Value throughNodeApi(Napi::Env env, const Backing& backing, void* data, size_t length) {
  auto held = std::make_unique<Backing>(backing);
  OwnMemory::instance().add(data, backing);
  const auto letGo = [](Napi::BasicEnv, void* memory, Backing* each) {
    delete each;
    OwnMemory::instance().forget(memory);
  };
  auto buffer = Napi::ArrayBuffer::New(env, data, length, letGo, held.get());
  held.release();
  return buffer;
}

}  // namespace

void requireBackingStores(Napi::Env env, const char* what) {
  if (v8(env) != nullptr) return;
  throwUnavailable(std::string(what) + " needs Node.js; this runtime cannot provide such memory");
}

Backing backingOf(Napi::Env env, const Napi::Value& buffer, const char* name) {
  const V8* functions = v8(env);
  if (functions != nullptr) {
    const V8::Kind& kind = buffer.IsArrayBuffer() ? functions->plain : functions->shared;
    return kind.getBackingStore(buffer);
  }
  if (!buffer.IsArrayBuffer()) return nullptr;
  Backing own = OwnMemory::instance().find(buffer.As<Napi::ArrayBuffer>().Data());
  if (own != nullptr) return own;
  throwUnavailable(std::string(name) +
                   " is an ArrayBuffer, and this JavaScript runtime may free its memory while the "
                   "network uses it; use the bytes of engine.allocate() or domain.allocate(), or a "
                   "SharedArrayBuffer");
}

Napi::Value toBuffer(Napi::Env env, const Backing& backing, void* data, size_t length,
                     bool shared) {
  const V8* functions = v8(env);
  if (functions == nullptr) return throughNodeApi(env, backing, data, length);
  const V8::Kind& kind = shared ? functions->shared : functions->plain;
  const auto letGo = [](void*, size_t, void* held) { delete static_cast<Backing*>(held); };
  auto held = std::make_unique<Backing>(backing);
  Store* const made = kind.newBackingStore(data, length, letGo, held.get()).get();
  held.release();
  V8::SharedStore store(made, [destroy = functions->destroyStore](Store* each) {
    destroy(each);
    ::operator delete(static_cast<void*>(each));
  });
  return Napi::Value(env, kind.make(functions->currentIsolate(), std::move(store)));
}

}  // namespace fab
