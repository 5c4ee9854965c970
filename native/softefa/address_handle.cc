#include "address_handle.h"

#include <cerrno>
#include <memory>

#include "context.h"
#include "device_attributes.h"
#include "nic_address.h"

namespace softefa {

AddressHandle* AddressHandles::create(ibv_pd* pd, const ibv_ah_attr& attributes) {
  if (attributes.port_num != 1 || attributes.is_global == 0) {
    errno = EINVAL;
    return nullptr;
  }
  auto handle = std::make_unique<AddressHandle>();
  handle->verbs = {};
  handle->verbs.context = pd->context;
  handle->verbs.pd = pd;
  NicAddress address;
  const ibv_gid& gid = attributes.grh.dgid;
  handle->destination = NicAddress::fromGid(gid, address) ? address.key() : kNowhere;
  handle->gid.assign(reinterpret_cast<const char*>(gid.raw), sizeof(gid.raw));

  std::lock_guard<std::mutex> lock(mutex_);
  auto found = byGid_.find(handle->gid);
  if (found == byGid_.end()) {
    if (free_.empty() && next_ >= kMaxAh) {
      errno = ENOMEM;
      return nullptr;
    }
    uint16_t number = next_;
    if (free_.empty()) {
      ++next_;
    } else {
      number = free_.back();
      free_.pop_back();
    }
    found = byGid_.emplace(handle->gid, Numbered{number, 0}).first;
    if (byNumber_.size() <= number) byNumber_.resize(size_t{number} + 1);
    byNumber_[number] = handle->destination;
    if (handle->destination != kNowhere) byNic_[handle->destination] = number;
    epoch_.fetch_add(1, std::memory_order_release);
  }
  ++found->second.users;
  handle->number = found->second.number;
  return handle.release();
}

void AddressHandles::destroy(AddressHandle* handle) {
  const std::unique_ptr<AddressHandle> owned(handle);
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = byGid_.find(handle->gid);
  if (--found->second.users != 0) return;
  free_.push_back(found->second.number);
  byNumber_[found->second.number].reset();
  byNic_.erase(handle->destination);
  byGid_.erase(found);
  epoch_.fetch_add(1, std::memory_order_release);
}

std::optional<uint32_t> AddressHandles::destinationOf(uint16_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  return number < byNumber_.size() ? byNumber_[number] : std::nullopt;
}

uint16_t AddressHandles::numberOf(uint32_t nic) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = byNic_.find(nic);
  return found == byNic_.end() ? kUnknownAhn : found->second;
}

}  // namespace softefa
