#include "info_fields.h"

#include <iterator>

#include "../providers/abi.h"

namespace fab {
namespace {

static_assert(sizeof(size_t) == sizeof(uint64_t), "only 64-bit machines are supported");

constexpr Field flags(const char* name, size_t offset, const FlagTable& table) {
  return {name, FieldKind::kFlags, offset, &table};
}
constexpr Field enumeration(const char* name, size_t offset, const EnumTable& table) {
  return {name, FieldKind::kEnum, offset, nullptr, &table};
}
constexpr Field plain(const char* name, FieldKind kind, size_t offset) {
  return {name, kind, offset};
}
constexpr Field size(const char* name, size_t offset) { return {name, FieldKind::kSize, offset}; }
constexpr Field big(const char* name, size_t offset) { return {name, FieldKind::kBig, offset}; }
constexpr Field text(const char* name, size_t offset) { return {name, FieldKind::kString, offset}; }
constexpr Field bytes(const char* name, size_t offset, size_t lengthOffset) {
  return {name, FieldKind::kBytes, offset, nullptr, nullptr, lengthOffset};
}
constexpr Field newer(Field field, uint32_t since) {
  field.since = since;
  return field;
}
constexpr Field output(Field field) {
  field.outputOnly = true;
  return field;
}

constexpr Field kInfo[] = {
    flags("caps", offsetof(fi_info, caps), kCaps),
    flags("mode", offsetof(fi_info, mode), kModes),
    enumeration("addrFormat", offsetof(fi_info, addr_format), kAddrFormats),
    bytes("srcAddr", offsetof(fi_info, src_addr), offsetof(fi_info, src_addrlen)),
    bytes("destAddr", offsetof(fi_info, dest_addr), offsetof(fi_info, dest_addrlen)),
};

constexpr Field kTx[] = {
    flags("caps", offsetof(fi_tx_attr, caps), kCaps),
    flags("mode", offsetof(fi_tx_attr, mode), kModes),
    flags("opFlags", offsetof(fi_tx_attr, op_flags), kOpFlags),
    flags("msgOrder", offsetof(fi_tx_attr, msg_order), kMsgOrders),
    flags("compOrder", offsetof(fi_tx_attr, comp_order), kCompOrders),
    size("injectSize", offsetof(fi_tx_attr, inject_size)),
    size("size", offsetof(fi_tx_attr, size)),
    size("iovLimit", offsetof(fi_tx_attr, iov_limit)),
    size("rmaIovLimit", offsetof(fi_tx_attr, rma_iov_limit)),
    enumeration("tclass", offsetof(fi_tx_attr, tclass), kTrafficClasses),
};

constexpr Field kRx[] = {
    flags("caps", offsetof(fi_rx_attr, caps), kCaps),
    flags("mode", offsetof(fi_rx_attr, mode), kModes),
    flags("opFlags", offsetof(fi_rx_attr, op_flags), kOpFlags),
    flags("msgOrder", offsetof(fi_rx_attr, msg_order), kMsgOrders),
    flags("compOrder", offsetof(fi_rx_attr, comp_order), kCompOrders),
    size("totalBufferedRecv", offsetof(fi_rx_attr, total_buffered_recv)),
    size("size", offsetof(fi_rx_attr, size)),
    size("iovLimit", offsetof(fi_rx_attr, iov_limit)),
};

constexpr Field kEp[] = {
    enumeration("type", offsetof(fi_ep_attr, type), kEpTypes),
    enumeration("protocol", offsetof(fi_ep_attr, protocol), kProtocols),
    plain("protocolVersion", FieldKind::kU32, offsetof(fi_ep_attr, protocol_version)),
    big("maxMsgSize", offsetof(fi_ep_attr, max_msg_size)),
    size("msgPrefixSize", offsetof(fi_ep_attr, msg_prefix_size)),
    big("maxOrderRawSize", offsetof(fi_ep_attr, max_order_raw_size)),
    big("maxOrderWarSize", offsetof(fi_ep_attr, max_order_war_size)),
    big("maxOrderWawSize", offsetof(fi_ep_attr, max_order_waw_size)),
    big("memTagFormat", offsetof(fi_ep_attr, mem_tag_format)),
    plain("txCtxCnt", FieldKind::kContexts, offsetof(fi_ep_attr, tx_ctx_cnt)),
    plain("rxCtxCnt", FieldKind::kContexts, offsetof(fi_ep_attr, rx_ctx_cnt)),
    bytes("authKey", offsetof(fi_ep_attr, auth_key), offsetof(fi_ep_attr, auth_key_size)),
};

constexpr size_t tail(size_t offset) { return kDomainAttrTail + offset; }

constexpr Field kDomain[] = {
    text("name", offsetof(fi_domain_attr, name)),
    enumeration("threading", offsetof(fi_domain_attr, threading), kThreadings),
    enumeration("controlProgress", offsetof(fi_domain_attr, control_progress), kProgresses),
    enumeration("dataProgress", offsetof(fi_domain_attr, data_progress), kProgresses),
    enumeration("resourceMgmt", offsetof(fi_domain_attr, resource_mgmt), kResourceMgmts),
    enumeration("avType", offsetof(fi_domain_attr, av_type), kAvTypes),
    {"mrMode", FieldKind::kFlags32, offsetof(fi_domain_attr, mr_mode), &kMrModes},
    size("mrKeySize", offsetof(fi_domain_attr, mr_key_size)),
    size("cqDataSize", offsetof(fi_domain_attr, cq_data_size)),
    size("cqCnt", offsetof(fi_domain_attr, cq_cnt)),
    size("epCnt", offsetof(fi_domain_attr, ep_cnt)),
    size("txCtxCnt", offsetof(fi_domain_attr, tx_ctx_cnt)),
    size("rxCtxCnt", offsetof(fi_domain_attr, rx_ctx_cnt)),
    size("maxEpTxCtx", offsetof(fi_domain_attr, max_ep_tx_ctx)),
    size("maxEpRxCtx", offsetof(fi_domain_attr, max_ep_rx_ctx)),
    size("maxEpStxCtx", offsetof(fi_domain_attr, max_ep_stx_ctx)),
    size("maxEpSrxCtx", offsetof(fi_domain_attr, max_ep_srx_ctx)),
    size("cntrCnt", offsetof(fi_domain_attr, cntr_cnt)),
    size("mrIovLimit", offsetof(fi_domain_attr, mr_iov_limit)),
    flags("caps", offsetof(fi_domain_attr, caps), kCaps),
    flags("mode", offsetof(fi_domain_attr, mode), kModes),
    bytes("authKey", offsetof(fi_domain_attr, auth_key), offsetof(fi_domain_attr, auth_key_size)),
    size("maxErrData", offsetof(fi_domain_attr, max_err_data)),
    size("mrCnt", offsetof(fi_domain_attr, mr_cnt)),
    enumeration("tclass", offsetof(fi_domain_attr, tclass), kTrafficClasses),
    newer(size("maxEpAuthKey", tail(offsetof(DomainAttrTail, max_ep_auth_key))), FI_VERSION(1, 20)),
    newer(plain("maxGroupId", FieldKind::kU32, tail(offsetof(DomainAttrTail, max_group_id))),
          FI_VERSION(2, 0)),
    newer(big("maxCntrValue", tail(offsetof(DomainAttrTail, max_cntr_value))), FI_VERSION(2, 5)),
    newer(big("maxErrCntrValue", tail(offsetof(DomainAttrTail, max_err_cntr_value))),
          FI_VERSION(2, 5)),
};

constexpr Field kFabric[] = {
    text("name", offsetof(fi_fabric_attr, name)),
    text("provName", offsetof(fi_fabric_attr, prov_name)),
    plain("provVersion", FieldKind::kVersion, offsetof(fi_fabric_attr, prov_version)),
    output(plain("apiVersion", FieldKind::kVersion, offsetof(fi_fabric_attr, api_version))),
};

constexpr Field kDevice[] = {
    text("name", offsetof(fi_device_attr, name)),
    text("deviceId", offsetof(fi_device_attr, device_id)),
    text("deviceVersion", offsetof(fi_device_attr, device_version)),
    text("vendorId", offsetof(fi_device_attr, vendor_id)),
    text("driver", offsetof(fi_device_attr, driver)),
    text("firmware", offsetof(fi_device_attr, firmware)),
};

constexpr Field kLink[] = {
    text("address", offsetof(fi_link_attr, address)),
    size("mtu", offsetof(fi_link_attr, mtu)),
    size("speed", offsetof(fi_link_attr, speed)),
    enumeration("state", offsetof(fi_link_attr, state), kLinkStates),
    text("networkType", offsetof(fi_link_attr, network_type)),
};

template <size_t N>
constexpr FieldList listOf(const Field (&fields)[N]) {
  return {fields, N};
}

constexpr AttrStruct kStructs[] = {
    {"txAttr", offsetof(fi_info, tx_attr), listOf(kTx)},
    {"rxAttr", offsetof(fi_info, rx_attr), listOf(kRx)},
    {"epAttr", offsetof(fi_info, ep_attr), listOf(kEp)},
    {"domainAttr", offsetof(fi_info, domain_attr), listOf(kDomain)},
    {"fabricAttr", offsetof(fi_info, fabric_attr), listOf(kFabric)},
};

}  // namespace

const FieldList kInfoFields = listOf(kInfo);
const AttrStructs kAttrStructs = {kStructs, std::size(kStructs)};
const FieldList kDeviceFields = listOf(kDevice);
const FieldList kLinkFields = listOf(kLink);

bool isPresent(const Field& field) {
  static const uint32_t version = fi_version();
  return version >= field.since;
}

}  // namespace fab
