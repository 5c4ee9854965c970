#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include "library.h"

namespace verbs {

// ibv_get_device_list(3). Throws LibraryMissing, or std::system_error with the name of the call.
class DeviceList {
 public:
  DeviceList();
  ~DeviceList();
  DeviceList(const DeviceList&) = delete;

  const Library& library() const { return library_; }
  ibv_device** begin() const { return list_; }
  ibv_device** end() const { return list_ + count_; }
  ibv_device& find(const std::string& name) const;
  uint64_t guid(ibv_device& device) const;

 private:
  Library library_;
  ibv_device** list_;
  int count_ = 0;
};

struct PortAttributes {
  ibv_port_attr base;
  uint32_t activeSpeedEx;  // 0 if rdma-core does not report it
};

struct Gid {
  int index;
  ibv_gid value;
};

// ibv_open_device(3).
class Context {
 public:
  Context(const DeviceList& devices, const std::string& name);
  ~Context();
  Context(const Context&) = delete;

  ibv_context* get() const { return context_; }
  ibv_device_attr_ex queryDevice() const;
  PortAttributes queryPort(uint8_t port) const;
  // The entries of a port's table that are set.
  std::vector<Gid> queryGids(uint8_t port, int length) const;

 private:
  const Library& library_;
  ibv_context* context_;
};

[[noreturn]] inline void fail(int error, const char* call) {
  throw std::system_error(error, std::generic_category(), call);
}

}  // namespace verbs
