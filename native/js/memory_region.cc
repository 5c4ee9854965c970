#include "../engine/memory_region.h"

#include <sys/mman.h>

#include <optional>

#include "../engine/hold.h"
#include "../objects/device_memory.h"
#include "../objects/domain.h"
#include "../objects/registration.h"
#include "../util/numa_node.h"
#include "../util/on_exception.h"
#include "../util/shared_block.h"
#include "addon.h"
#include "backing_store.h"
#include "device_memory_js.h"
#include "exports.h"
#include "flags_js.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

// Adds a region to the engine's table. The caller holds the engine.
void enter(const std::shared_ptr<Domain>& domain, const std::shared_ptr<MemoryRegion>& region,
           const Backing& backing, Reach reach) {
  Memory memory;
  memory.backing = backing;
  memory.base = region->base;
  memory.length = region->length;
  memory.desc = fi_mr_desc(region->get());
  memory.reach = reach;
  memory.region = region;
  if (reach != Reach::kHost) domain->engine().useDeviceMemory();
  // Slices in batches may use the handle after the region has closed.
  const OnException undo([&] { region->close(); });
  region->handle =
      domain->engine().memories.insert(std::move(memory), Engine::Memories::Handles::kHeldLonger);
  if (region->handle == 0) throw FabricFailure(FI_ENOMEM, "fi_mr_reg", "too many regions");
}

// Closes memory once no operation uses it.
void forget(Engine& engine, uint32_t memory) {
  engine.deferSlow([&engine, memory] { engine.closings.closeMemory(memory, kNoRequest); });
}

// Faults in all pages, so that the engine is held for a shorter time during the registration. It
// takes 1.3 ms for 16 MiB even if they are there.
void populate(uint8_t* base, uint64_t length) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE: Linux 5.14, glibc 2.35
  constexpr uintptr_t kPage = 4096;
  const uintptr_t first = reinterpret_cast<uintptr_t>(base) & ~(kPage - 1);
  const uintptr_t end = reinterpret_cast<uintptr_t>(base) + length;
  // If it fails, the registration reports the reason or works without it.
  madvise(reinterpret_cast<void*>(first), end - first, kPopulateWrite);
}

// Registration pins pages. That is slow for large regions, so it runs off the event loop.
class Register final : public Napi::AsyncWorker {
 public:
  Register(Napi::Env env, std::shared_ptr<Domain> domain, uint64_t access, uint64_t flags)
      : Napi::AsyncWorker(env),
        deferred_(env),
        domain_(std::move(domain)),
        access_(access),
        flags_(flags) {}

  void useBuffer(Napi::Uint8Array view, bool wasRegistered) {
    wasRegistered_ = wasRegistered;
    backing_ = backingOf(Env(), view.ArrayBuffer(), "buffer");
    base_ = view.Data();
    length_ = view.ByteLength();
    buffer_ = Napi::Persistent(view.As<Napi::Object>());
  }
  void useNewMemory(uint64_t length, bool hugePages, bool shared, int numaNode) {
    length_ = length;
    numaNode_ = numaNode;
    hugePages_ = hugePages;
    shared_ = shared;
  }
  void useDevice(DeviceMemory memory) {
    checkDeviceMemory(domain_->info(), memory, access_);
    device_ = std::move(memory);
    holdPointer(*device_);
  }
  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override {
    try {
      if (device_) {
        reserveAddresses(*device_);
        base_ = device_->base;
      } else if (base_ == nullptr) {
        allocate();
      } else if (!wasRegistered_) {
        populate(base_, length_);
      }
      const Hold hold(domain_->engine());
      if (domain_->closed()) throw FabricFailure(FI_ECANCELED, "fi_mr_reg", "the domain is closed");
      if (device_) {
        region_ = openRegion(domain_, *device_, access_, flags_);
        const bool pointer = device_->reach == Reach::kHmem;  // in use until the region is closed
        enter(domain_, region_, pointer ? nullptr : device_->backing, device_->reach);
      } else {
        region_ = openRegion(domain_, base_, length_, access_, backing_, flags_);
        enter(domain_, region_, backing_, Reach::kHost);
      }
    } catch (const FabricFailure& failure) {
      failure_ = std::make_unique<FabricFailure>(failure);
    } catch (const std::bad_alloc&) {
      failure_ = std::make_unique<FabricFailure>(FI_ENOMEM, "malloc");
    }
  }

  void OnOK() override {
    try {
      settle();
    } catch (const Napi::Error& error) {
      deferred_.Reject(error.Value());
    }
  }

 private:
  void settle() {
    if (!failure_ && region_->closed()) {  // its domain was closed in the meantime
      failure_ = std::make_unique<FabricFailure>(FI_ECANCELED, "fi_mr_reg", "the domain is closed");
    }
    if (failure_) return deferred_.Reject(toJsError(Env(), *failure_));
    const OnException undo([&] { forget(domain_->engine(), region_->handle); });
    auto result = Napi::Object::New(Env());
    result.Set("memory", region_->handle);
    result.Set("key", Napi::BigInt::New(Env(), fi_mr_key(region_->get())));
    const bool byAddress = (domain_->mrMode() & FI_MR_VIRT_ADDR) != 0;
    result.Set("address",
               Napi::BigInt::New(Env(), byAddress ? reinterpret_cast<uint64_t>(base_) : 0));
    if (buffer_.IsEmpty() && !device_) {
      const auto length = static_cast<size_t>(length_);
      result.Set("buffer", toBuffer(Env(), backing_, base_, length, shared_));
      result.Set("hugePages", hugePages_);
    }
    deferred_.Resolve(result);
  }

  // Allocates page-aligned memory that is backed by pages from the start (FI_MR_ALLOCATED).
  void allocate() {
    constexpr uint64_t kHugePage = 2 << 20;
    constexpr uint64_t kPage = 4096;
    const uint64_t unit = hugePages_ ? kHugePage : kPage;
    const uint64_t size = (std::max<uint64_t>(length_, 1) + unit - 1) / unit * unit;
    std::shared_ptr<SharedBlock> block;
    if (hugePages_) block = SharedBlock::allocate(size, MAP_HUGETLB);
    if (!block) {
      hugePages_ = false;
      block = SharedBlock::allocate(size);
    }
    if (!block) throw FabricFailure(FI_ENOMEM, "mmap", std::to_string(length_) + " bytes");
    if (numaNode_ >= 0) preferNumaNode(block->data(), size, static_cast<unsigned>(numaNode_));
    block->populate();
    base_ = block->data();
    backing_ = std::move(block);
  }

  Napi::Promise::Deferred deferred_;
  std::shared_ptr<Domain> domain_;
  uint64_t access_;
  uint64_t flags_;
  uint8_t* base_ = nullptr;
  uint64_t length_ = 0;
  bool hugePages_ = false;
  bool shared_ = false;
  int numaNode_ = -1;
  bool wasRegistered_ = false;
  Napi::ObjectReference buffer_;
  Backing backing_;
  std::optional<DeviceMemory> device_;
  std::shared_ptr<MemoryRegion> region_;
  std::unique_ptr<FabricFailure> failure_;
};

Napi::Value start(std::unique_ptr<Register> worker) {
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  worker.release();  // deletes itself
  return promise;
}

// memoryRegister(domain, bytes, access, flags, wasRegistered): { memory, key, address }
Napi::Value memoryRegister(const Napi::CallbackInfo& args) {
  auto worker = std::make_unique<Register>(args.Env(), unwrap<Domain>(args[0]),
                                           flagsFromJs(args[2], kMrAccess, "access"),
                                           flagsFromJs(args[3], kMrFlags, "flags"));
  worker->useBuffer(args[1].As<Napi::Uint8Array>(), args[4].ToBoolean());
  return start(std::move(worker));
}

// memoryRegisterDevice(domain, memory, access, flags): { memory, key, address }
Napi::Value memoryRegisterDevice(const Napi::CallbackInfo& args) {
  auto worker = std::make_unique<Register>(args.Env(), unwrap<Domain>(args[0]),
                                           flagsFromJs(args[2], kMrAccess, "access"),
                                           flagsFromJs(args[3], kMrFlags, "flags"));
  worker->useDevice(deviceMemoryFromJs(args[1]));
  return start(std::move(worker));
}

// memoryAllocate(domain, access, flags, { length, hugePages, shared, numaNode }): { memory, key,
// address, buffer, hugePages }
Napi::Value memoryAllocate(const Napi::CallbackInfo& args) {
  auto worker = std::make_unique<Register>(args.Env(), unwrap<Domain>(args[0]),
                                           flagsFromJs(args[1], kMrAccess, "access"),
                                           flagsFromJs(args[2], kMrFlags, "flags"));
  const auto options = args[3].As<Napi::Object>();
  const bool shared = options.Get("shared").ToBoolean();
  if (shared) requireBackingStores(args.Env(), "options.shared");
  worker->useNewMemory(unsignedFromJs(options.Get("length"), "length", uint64_t{1} << 53),
                       options.Get("hugePages").ToBoolean(), shared,
                       options.Get("numaNode").ToNumber());
  return start(std::move(worker));
}

// memoryAdopt(domain, bytes): a handle for an unregistered ArrayBuffer.
Napi::Value memoryAdopt(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  auto bytes = args[1].As<Napi::Uint8Array>();
  Memory memory;
  memory.backing = backingOf(args.Env(), bytes.ArrayBuffer(), "buffer");
  memory.base = bytes.Data();
  memory.length = bytes.ByteLength();
  const uint32_t handle = domain->engine().enter(domain->engine().memories, std::move(memory),
                                                 Engine::Memories::Handles::kLasting);
  if (handle == 0) throw FabricFailure(FI_ENOMEM, "memory", "too many buffers in use");
  return Napi::Number::New(args.Env(), handle);
}

// memoryForget(domain, memory): frees the handle once no operation uses the memory. JavaScript must
// not use the handle again.
Napi::Value memoryForget(const Napi::CallbackInfo& args) {
  const auto domain = unwrapAny<Domain>(args[0]);
  if (domain->closed()) return args.Env().Undefined();
  forget(domain->engine(), args[1].As<Napi::Number>().Uint32Value());
  return args.Env().Undefined();
}

// memoryBuffer(domain, memory): a new ArrayBuffer over the memory, after the first was detached.
Napi::Value memoryBuffer(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  const Memory* memory = domain->engine().memories.find(args[1].As<Napi::Number>().Uint32Value());
  if (memory == nullptr || memory->reach != Reach::kHost) {
    throw Misuse(Misuse::Kind::kState, "ERR_CLOSED", "the memory is closed or on a device");
  }
  const auto length = static_cast<size_t>(memory->length);
  return toBuffer(args.Env(), memory->backing, memory->base, length);
}

}  // namespace

void exportMemoryRegion(Napi::Object exports) {
  exportFunction<memoryRegister>(exports, "memoryRegister");
  exportFunction<memoryRegisterDevice>(exports, "memoryRegisterDevice");
  exportFunction<memoryAllocate>(exports, "memoryAllocate");
  exportFunction<memoryAdopt>(exports, "memoryAdopt");
  exportFunction<memoryForget>(exports, "memoryForget");
  exportFunction<memoryBuffer>(exports, "memoryBuffer");
}

}  // namespace fab
