#pragma once

#include <array>
#include <memory>
#include <vector>

#include "../../../native/engine/endpoint.h"
#include "../../../native/objects/domain.h"
#include "provider_queue.h"

// A domain with the objects that operations use, on the provider of the fuzzers. There is no
// driver: a fuzzer turns the engine itself.

namespace fuzz {

inline std::shared_ptr<fi_info> makeInfo() {
  std::shared_ptr<fi_info> info(fi_allocinfo(), [](fi_info* each) { fi_freeinfo(each); });
  info->fabric_attr->prov_name = strdup("fuzz");
  info->domain_attr->mr_key_size = 8;
  return info;
}

struct Rig {
  static constexpr uint32_t kEntries = 64;  // of each ring: a page
  static constexpr size_t kBytes = 48;      // of each buffer
  using Handles = fab::Engine::Memories::Handles;

  static constexpr uint8_t kUnstaged = 0x07;  // of `kinds`: no operation is staged

  explicit Rig(Input& input, uint8_t kinds = UINT8_MAX) : provider(input), info(makeInfo()) {
    const uint8_t kind = input.take<uint8_t>() & kinds;
    if ((kind & 1) != 0) info->mode |= FI_CONTEXT;
    if ((kind & 2) != 0) info->domain_attr->mr_mode |= FI_MR_LOCAL;
    if ((kind & 4) != 0) info->caps |= FI_SOURCE;
    const bool staged = (kind & 8) != 0;
    const bool receivesStaged = (kind & 16) != 0;
    fab::Fid<fid_fabric> fabricFid;
    *fabricFid.out() = &provider.fabric;
    fabric = std::make_shared<fab::Fabric>(std::move(fabricFid));
    fab::Fid<fid_domain> domainFid;
    *domainFid.out() = &provider.domain;
    domain = std::make_shared<fab::Domain>(fabric, std::move(domainFid), info,
                                           std::make_unique<fab::Engine>(kEntries, kEntries));
    domain->dependsOn(fabric);
    if ((info->domain_attr->mr_mode & FI_MR_LOCAL) != 0) {
      engine().useForDescriptors(
          [each = domain.get()](fab::Memory& memory) { return each->registerLocal(memory); });
    }
    openQueue();
    for (uint32_t i = 0; i < kEndpoints; ++i) openEndpoint(i, staged, receivesStaged);
    for (size_t i = 0; i < 3; ++i) memories.push_back(addMemory());
    const auto addRemote = [&](const fab::Remote& remote) {
      remotes.push_back(engine().remotes.insert(remote, fab::Engine::Remotes::Handles::kLasting));
    };
    addRemote({0x1000, kBytes, 7});
    addRemote({UINT64_MAX - 16, UINT64_MAX, UINT64_MAX});
    for (const auto* block :
         {&engine().controlBlock(), &engine().submissionBlock(), &engine().completionBlock()}) {
      provider.forbid((*block)->data(), (*block)->size());
    }
  }
  Rig(const Rig&) = delete;
  ~Rig() {
    domain->closeNow();
    fabric->closeNow();
  }

  fab::Engine& engine() const { return domain->engine(); }

  // The engine's entry holds the bytes alone, so that the sanitizer sees when it frees them.
  uint32_t addMemory() {
    const std::shared_ptr<uint8_t[]> bytes(new uint8_t[kBytes]());
    fab::Memory memory;
    memory.backing = bytes;
    memory.base = bytes.get();
    memory.length = kBytes;
    return engine().memories.insert(std::move(memory), Handles::kLasting);
  }

  static constexpr uint32_t kEndpoints = 2;

  Provider provider;
  std::shared_ptr<fi_info> info;
  std::shared_ptr<fab::Fabric> fabric;
  std::shared_ptr<fab::Domain> domain;
  std::shared_ptr<fab::CompletionQueue> queue;
  std::array<Provider::Endpoint, kEndpoints> posts;
  std::array<std::shared_ptr<fab::Endpoint>, kEndpoints> endpoints;
  std::vector<uint32_t> peers;
  std::vector<uint32_t> memories;
  std::vector<uint32_t> remotes;

 private:
  void openQueue() {
    provider.open(provider.queue);
    fab::Fid<fid_cq> fid;
    *fid.out() = &provider.queue.fid;
    fi_cq_attr attr{};
    attr.format = FI_CQ_FORMAT_TAGGED;
    queue =
        std::make_shared<fab::CompletionQueue>(engine(), std::move(fid), attr, attr.format, false);
    queue->dependsOn(domain);
    engine().addQueue(*queue);
  }

  // Each endpoint has an address vector of its own, with two peers.
  void openEndpoint(uint32_t i, bool staged, bool receivesStaged) {
    avFids_[i].fid.ops = &avOps_;
    avFids_[i].ops = &avCalls_;
    avOps_.close = [](fid*) { return 0; };
    avCalls_.remove = [](fid_av*, fi_addr_t*, size_t, uint64_t) { return 0; };
    avCalls_.lookup = [](fid_av*, fi_addr_t, void*, size_t*) { return -FI_EINVAL; };
    fab::Fid<fid_av> avFid;
    *avFid.out() = &avFids_[i];
    const auto av = std::make_shared<fab::AddressVector>(domain, domain->engine(), domain->info(),
                                                         std::move(avFid));
    av->dependsOn(domain);
    for (fi_addr_t address = 2 * i; address < 2 * i + 2; ++address) {
      fab::Peer peer;
      peer.address = address;
      peer.av = av.get();
      peers.push_back(engine().peers.insert(peer));
      av->remember(address, peers.back(), "");
    }
    provider.open(posts[i], {2 * i, 2 * i + 1});
    fab::Fid<fid_ep> fid;
    *fid.out() = &posts[i].fid;
    auto& endpoint = endpoints[i];
    endpoint = std::make_shared<fab::Endpoint>(engine(), fab::Fid<fid_eq>(), std::move(fid), *info);
    endpoint->belongsTo(domain, av, queue, queue);
    giveMemory(*endpoint, staged, receivesStaged);
    engine().addEndpoint(*endpoint);
  }

  void giveMemory(fab::Endpoint& endpoint, bool staged, bool receivesStaged) {
    constexpr size_t kSlots = 64;
    const bool local = (info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    const uint64_t access = local ? FI_SEND | FI_RECV : 0;
    const fab::Staging::Layout layout{8, 64, access};
    if (staged) {
      endpoint.memory.sends = std::make_shared<fab::Staging>(&provider.domain, layout, kSlots);
    }
    endpoint.memory.registers = local;
    endpoint.memory.copied = std::make_shared<fab::Staging>(
        &provider.domain, fab::Staging::Layout{0, fab::kCarried, access}, kSlots);
    if (!receivesStaged) return;
    endpoint.memory.receives =
        std::make_shared<fab::ReceiveStaging>(&provider.domain, layout, kSlots);
    ++queue->stagedEndpoints;
  }

  std::array<fid_av, kEndpoints> avFids_{};
  fi_ops avOps_{};
  fi_ops_av avCalls_{};
};

}  // namespace fuzz
