#include "attributes.h"

#include <endian.h>

#include <cstring>

namespace verbs {
namespace {

struct Limit {
  const char* name;
  int ibv_device_attr::*field;
};

constexpr Limit kLimits[] = {
    {"maxQp", &ibv_device_attr::max_qp},
    {"maxQpWr", &ibv_device_attr::max_qp_wr},
    {"maxSge", &ibv_device_attr::max_sge},
    {"maxSgeRd", &ibv_device_attr::max_sge_rd},
    {"maxCq", &ibv_device_attr::max_cq},
    {"maxCqe", &ibv_device_attr::max_cqe},
    {"maxMr", &ibv_device_attr::max_mr},
    {"maxPd", &ibv_device_attr::max_pd},
    {"maxQpRdAtom", &ibv_device_attr::max_qp_rd_atom},
    {"maxEeRdAtom", &ibv_device_attr::max_ee_rd_atom},
    {"maxResRdAtom", &ibv_device_attr::max_res_rd_atom},
    {"maxQpInitRdAtom", &ibv_device_attr::max_qp_init_rd_atom},
    {"maxEeInitRdAtom", &ibv_device_attr::max_ee_init_rd_atom},
    {"maxEe", &ibv_device_attr::max_ee},
    {"maxRdd", &ibv_device_attr::max_rdd},
    {"maxMw", &ibv_device_attr::max_mw},
    {"maxRawIpv6Qp", &ibv_device_attr::max_raw_ipv6_qp},
    {"maxRawEthyQp", &ibv_device_attr::max_raw_ethy_qp},
    {"maxMcastGrp", &ibv_device_attr::max_mcast_grp},
    {"maxMcastQpAttach", &ibv_device_attr::max_mcast_qp_attach},
    {"maxTotalMcastQpAttach", &ibv_device_attr::max_total_mcast_qp_attach},
    {"maxAh", &ibv_device_attr::max_ah},
    {"maxSrq", &ibv_device_attr::max_srq},
    {"maxSrqWr", &ibv_device_attr::max_srq_wr},
    {"maxSrqSge", &ibv_device_attr::max_srq_sge},
};

Napi::BigInt big(Napi::Env env, uint64_t value) { return Napi::BigInt::New(env, value); }

Napi::Object limitsToJs(Napi::Env env, const ibv_device_attr& attributes) {
  Napi::Object limits = Napi::Object::New(env);
  limits.Set("maxMrSize", big(env, attributes.max_mr_size));
  limits.Set("pageSizeCap", big(env, attributes.page_size_cap));
  for (const Limit& limit : kLimits) limits.Set(limit.name, attributes.*limit.field);
  limits.Set("maxPkeys", attributes.max_pkeys);
  limits.Set("localCaAckDelay", attributes.local_ca_ack_delay);
  return limits;
}

}  // namespace

Napi::Object toJs(Napi::Env env, const ibv_device_attr& attributes) {
  Napi::Object device = Napi::Object::New(env);
  const size_t length = ::strnlen(attributes.fw_ver, sizeof(attributes.fw_ver));
  device.Set("firmware", std::string(attributes.fw_ver, length));
  device.Set("sysImageGuid", big(env, be64toh(attributes.sys_image_guid)));
  device.Set("vendorId", attributes.vendor_id);
  device.Set("vendorPartId", attributes.vendor_part_id);
  device.Set("hardwareVersion", attributes.hw_ver);
  device.Set("capFlags", attributes.device_cap_flags);
  device.Set("atomicCap", static_cast<int>(attributes.atomic_cap));
  device.Set("limits", limitsToJs(env, attributes));
  return device;
}

Napi::Object toJs(Napi::Env env, uint8_t number, const PortAttributes& attributes,
                  const std::vector<Gid>& gids) {
  const ibv_port_attr& base = attributes.base;
  Napi::Object port = Napi::Object::New(env);
  port.Set("number", number);
  port.Set("state", static_cast<int>(base.state));
  port.Set("physicalState", base.phys_state);
  port.Set("linkLayer", base.link_layer);
  port.Set("maxMtu", static_cast<int>(base.max_mtu));
  port.Set("activeMtu", static_cast<int>(base.active_mtu));
  port.Set("maxMessageSize", base.max_msg_sz);
  port.Set("lid", base.lid);
  port.Set("activeWidth", base.active_width);
  port.Set("activeSpeed",
           attributes.activeSpeedEx != 0 ? attributes.activeSpeedEx : base.active_speed);
  Napi::Array list = Napi::Array::New(env, gids.size());
  for (uint32_t i = 0; i < gids.size(); ++i) {
    Napi::Object gid = Napi::Object::New(env);
    gid.Set("index", gids[i].index);
    gid.Set("bytes",
            Napi::Buffer<uint8_t>::Copy(env, gids[i].value.raw, sizeof(gids[i].value.raw)));
    list.Set(i, gid);
  }
  port.Set("gids", list);
  return port;
}

Napi::Object toJs(Napi::Env env, const EfaAttributes& attributes) {
  Napi::Object efa = Napi::Object::New(env);
  efa.Set("compMask", big(env, attributes.compMask));
  efa.Set("maxSqWr", attributes.maxSqWr);
  efa.Set("maxRqWr", attributes.maxRqWr);
  efa.Set("maxSqSge", attributes.maxSqSge);
  efa.Set("maxRqSge", attributes.maxRqSge);
  efa.Set("inlineBufSize", attributes.inlineBufSize);
  efa.Set("inlineBufSizeEx", attributes.inlineBufSizeEx);
  efa.Set("deviceCaps", attributes.deviceCaps);
  efa.Set("maxRdmaSize", attributes.maxRdmaSize);
  return efa;
}

}  // namespace verbs
