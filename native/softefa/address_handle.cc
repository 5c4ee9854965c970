#include "address_handle.h"

#include <cerrno>
#include <memory>
#include <system_error>

#include "context.h"
#include "device_attributes.h"
#include "nic_address.h"
#include "runtime.h"

namespace softefa {

AddressHandle* AddressHandles::create(ibv_pd* pd, const ibv_ah_attr& attributes) {
  if (attributes.port_num != 1 || attributes.is_global == 0 || attributes.grh.sgid_index != 0) {
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
  if (byGid_.count(handle->gid) == 0) {
    errno = add(*handle);
    if (errno != 0) return nullptr;
  }
  Numbered& found = byGid_[handle->gid];
  ++found.users;
  handle->number = found.number;
  return handle.release();
}

int AddressHandles::add(const AddressHandle& handle) {
  if (free_.empty() && next_ >= kMaxAh) return ENOMEM;
  if (handle.destination != kNowhere) {
    try {
      Runtime::get().knownNics().add(nic_, NicAddress::fromKey(handle.destination));
    } catch (const std::system_error& failure) {
      return failure.code().value();
    }
  }
  uint16_t number = next_;
  if (free_.empty()) {
    ++next_;
  } else {
    number = free_.back();
    free_.pop_back();
  }
  byGid_[handle.gid] = Numbered{number, 0};
  if (byNumber_.size() <= number) byNumber_.resize(size_t{number} + 1);
  byNumber_[number] = handle.destination;
  if (handle.destination != kNowhere) byNic_[handle.destination] = number;
  epoch_.fetch_add(1, std::memory_order_release);
  return 0;
}

void AddressHandles::destroy(AddressHandle* handle) {
  const std::unique_ptr<AddressHandle> owned(handle);
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = byGid_.find(handle->gid);
  if (--found->second.users != 0) return;
  free_.push_back(found->second.number);
  byNumber_[found->second.number].reset();
  if (handle->destination != kNowhere) {
    byNic_.erase(handle->destination);
    Runtime::get().knownNics().remove(nic_, NicAddress::fromKey(handle->destination));
  }
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
