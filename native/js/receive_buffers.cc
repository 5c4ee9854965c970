// Receive buffers of the package itself: one block, registered once if the provider needs that,
// with an ArrayBuffer and a handle for each buffer.

#include "../engine/memory_region.h"
#include "../objects/domain.h"
#include "../objects/registration.h"
#include "../providers/provider_traits.h"
#include "../util/on_exception.h"
#include "../util/shared_block.h"
#include "addon.h"
#include "backing_store.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

constexpr uint64_t kMaxBuffers = 1 << 20;
constexpr uint64_t kMaxSize = uint64_t{1} << 31;
constexpr uint64_t kAlignment = 64;

// The block that all buffers share. The registration closes when the last buffer is freed.
Backing backingOfBuffers(const std::shared_ptr<Domain>& domain,
                         const std::shared_ptr<SharedBlock>& block, uint32_t count, void*& desc) {
  if (!domain->engine().describes() || block->size() / count <= copiedBytes(domain->info())) {
    return block;
  }
  const Hold hold(domain->engine());
  const auto region =
      openRegion(domain, block->data(), block->size(), domain->localAccess(), block);
  desc = fi_mr_desc(region->get());
  const std::weak_ptr<Domain> weak = domain;
  return Backing(region.get(), [weak, region](void*) {
    if (const auto open = weak.lock()) open->engine().defer([region] { region->close(); });
  });
}

void forget(Engine& engine, std::vector<uint32_t> handles) {
  engine.deferSlow([&engine, handles = std::move(handles)] {
    for (const uint32_t handle : handles) engine.closings.closeMemory(handle, kNoRequest);
  });
}

// receiveBuffersCreate(domain, count, size): { handles, buffers }
Napi::Value receiveBuffersCreate(const Napi::CallbackInfo& args) {
  const Napi::Env env = args.Env();
  const auto domain = unwrap<Domain>(args[0]);
  const auto count = static_cast<uint32_t>(unsignedFromJs(args[1], "count", kMaxBuffers));
  const uint64_t size = unsignedFromJs(args[2], "size", kMaxSize);
  const uint64_t stride = (size + kAlignment - 1) / kAlignment * kAlignment;
  const auto block = SharedBlock::allocate(static_cast<size_t>(count * stride));
  if (!block) throw FabricFailure(FI_ENOMEM, "mmap");
  auto handles = Napi::Uint32Array::New(env, count);
  auto buffers = Napi::Array::New(env, count);
  for (uint32_t i = 0; i < count; ++i) {
    buffers.Set(i, toBuffer(env, block, block->data() + i * stride, static_cast<size_t>(size)));
  }
  void* desc = nullptr;
  const Backing backing = backingOfBuffers(domain, block, count, desc);
  Engine& engine = domain->engine();
  std::vector<uint32_t> entered;
  entered.reserve(count);
  const OnException undo([&] { forget(engine, entered); });
  for (uint32_t i = 0; i < count; ++i) {
    Memory memory;
    memory.backing = backing;
    memory.base = block->data() + i * stride;
    memory.length = size;
    memory.desc = desc;
    const uint32_t handle =
        engine.enter(engine.memories, std::move(memory), Engine::Memories::Handles::kLasting);
    if (handle == 0) throw FabricFailure(FI_ENOMEM, "memory", "too many buffers in use");
    entered.push_back(handle);
  }
  std::copy(entered.begin(), entered.end(), handles.Data());
  auto result = Napi::Object::New(env);
  result.Set("handles", handles);
  result.Set("buffers", buffers);
  return result;
}

// receiveBuffersForget(domain, handles): frees the handles once no operation uses their buffers.
Napi::Value receiveBuffersForget(const Napi::CallbackInfo& args) {
  const auto domain = unwrapAny<Domain>(args[0]);
  if (domain->closed()) return args.Env().Undefined();
  const auto handles = args[1].As<Napi::Uint32Array>();
  forget(domain->engine(), {handles.Data(), handles.Data() + handles.ElementLength()});
  return args.Env().Undefined();
}

// memoryRead(domain, memory, offset, length): a copy of bytes of a handle's memory. JavaScript
// still owns the handle, so the engine does not change its entry.
Napi::Value memoryRead(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  const uint64_t offset = unsignedFromJs(args[2], "offset");
  const uint64_t length = unsignedFromJs(args[3], "length");
  const Memory* memory = domain->engine().memories.find(args[1].As<Napi::Number>().Uint32Value());
  const bool readable = memory != nullptr && memory->reach == Reach::kHost;
  if (!readable || offset > memory->length || length > memory->length - offset) {
    throw Misuse(Misuse::Kind::kState, "ERR_CLOSED", "the memory is closed");
  }
  auto copy = Napi::ArrayBuffer::New(args.Env(), static_cast<size_t>(length));
  std::copy_n(memory->base + offset, static_cast<size_t>(length),
              static_cast<uint8_t*>(copy.Data()));
  return copy;
}

}  // namespace

void exportReceiveBuffers(Napi::Object exports) {
  exportFunction<receiveBuffersCreate>(exports, "receiveBuffersCreate");
  exportFunction<receiveBuffersForget>(exports, "receiveBuffersForget");
  exportFunction<memoryRead>(exports, "memoryRead");
}

}  // namespace fab
