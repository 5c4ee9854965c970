#include "flags.h"

#include <rdma/fabric.h>

namespace fab {
namespace {

constexpr uint64_t bit(int n) { return uint64_t{1} << n; }
constexpr uint32_t kV2 = FI_VERSION(2, 0);

template <size_t N>
constexpr NameList list(const NamedValue (&names)[N]) {
  return {names, N};
}

constexpr NamedValue kCapNames[] = {
    {"FI_MSG", bit(1)},
    {"FI_RMA", bit(2)},
    {"FI_TAGGED", bit(3)},
    {"FI_ATOMIC", bit(4)},
    {"FI_ATOMICS", bit(4)},
    {"FI_MULTICAST", bit(5)},
    {"FI_COLLECTIVE", bit(6)},
    {"FI_READ", bit(8)},
    {"FI_WRITE", bit(9)},
    {"FI_RECV", bit(10)},
    {"FI_SEND", bit(11)},
    {"FI_TRANSMIT", bit(11)},
    {"FI_REMOTE_READ", bit(12)},
    {"FI_REMOTE_WRITE", bit(13)},
    {"FI_MULTI_RECV", bit(16)},
    {"FI_REMOTE_CQ_DATA", bit(17)},
    {"FI_TRIGGER", bit(20)},
    {"FI_FENCE", bit(21)},
    {"FI_AV_USER_ID", bit(41)},
    {"FI_PEER", bit(43)},
    {"FI_XPU", bit(44)},
    {"FI_TAGGED_DIRECTED_RECV", bit(45)},
    {"FI_TAGGED_MULTI_RECV", bit(46)},
    {"FI_HMEM", bit(47)},
    {"FI_VARIABLE_MSG", bit(48), 0, kV2},
    {"FI_EXACT_DIRECTED_RECV", bit(48), kV2},
    {"FI_RMA_PMEM", bit(49)},
    {"FI_SOURCE_ERR", bit(50)},
    {"FI_LOCAL_COMM", bit(51)},
    {"FI_REMOTE_COMM", bit(52)},
    {"FI_SHARED_AV", bit(53)},
    {"FI_RMA_EVENT", bit(56)},
    {"FI_SOURCE", bit(57)},
    {"FI_NAMED_RX_CTX", bit(58)},
    {"FI_DIRECTED_RECV", bit(59)},
};

constexpr NamedValue kModeNames[] = {
    {"FI_PEER_TRANSFER", bit(36)},   {"FI_BUFFERED_RECV", bit(51)},     {"FI_CONTEXT2", bit(52)},
    {"FI_RESTRICTED_COMP", bit(53)}, {"FI_NOTIFY_FLAGS_ONLY", bit(54)}, {"FI_LOCAL_MR", bit(55)},
    {"FI_RX_CQ_DATA", bit(56)},      {"FI_ASYNC_IOV", bit(57)},         {"FI_MSG_PREFIX", bit(58)},
    {"FI_CONTEXT", bit(59)},
};

constexpr NamedValue kGetInfoFlagNames[] = {
    {"FI_RESCAN", bit(35)},
    {"FI_PROV_ATTR_ONLY", bit(54)},
    {"FI_NUMERICHOST", bit(55)},
    {"FI_SOURCE", bit(57)},
};

constexpr NamedValue kOpFlagNames[] = {
    {"FI_TAGGED", bit(3)},
    {"FI_MULTICAST", bit(5)},
    {"FI_MULTI_RECV", bit(16)},
    {"FI_REMOTE_CQ_DATA", bit(17)},
    {"FI_MORE", bit(18)},
    {"FI_PEEK", bit(19)},
    {"FI_TRIGGER", bit(20)},
    {"FI_FENCE", bit(21)},
    {"FI_PRIORITY", bit(22)},
    {"FI_COMPLETION", bit(24)},
    {"FI_EVENT", bit(24)},
    {"FI_INJECT", bit(25)},
    {"FI_INJECT_COMPLETE", bit(26)},
    {"FI_TRANSMIT_COMPLETE", bit(27)},
    {"FI_DELIVERY_COMPLETE", bit(28)},
    {"FI_AFFINITY", bit(29)},
    {"FI_COMMIT_COMPLETE", bit(30)},
    {"FI_MATCH_COMPLETE", bit(31)},
    {"FI_XPU_TRIGGER", bit(44)},
    {"FI_AUTH_KEY", bit(57)},
    {"FI_DISCARD", bit(58)},
    {"FI_CLAIM", bit(59)},
    {"FI_EFA_WR_HIGH_PPS", bit(60)},
};

constexpr NamedValue kCompletionFlagNames[] = {
    {"FI_MSG", bit(1)},
    {"FI_RMA", bit(2)},
    {"FI_TAGGED", bit(3)},
    {"FI_ATOMIC", bit(4)},
    {"FI_MULTICAST", bit(5)},
    {"FI_COLLECTIVE", bit(6)},
    {"FI_READ", bit(8)},
    {"FI_WRITE", bit(9)},
    {"FI_RECV", bit(10)},
    {"FI_SEND", bit(11)},
    {"FI_TRANSMIT", bit(11)},
    {"FI_REMOTE_READ", bit(12)},
    {"FI_REMOTE_WRITE", bit(13)},
    {"FI_MULTI_RECV", bit(16)},
    {"FI_REMOTE_CQ_DATA", bit(17)},
    {"FI_MORE", bit(18)},
    {"FI_COMPLETION", bit(24)},
    {"FI_INJECT", bit(25)},
    {"FI_INJECT_COMPLETE", bit(26)},
    {"FI_TRANSMIT_COMPLETE", bit(27)},
    {"FI_DELIVERY_COMPLETE", bit(28)},
    {"FI_COMMIT_COMPLETE", bit(30)},
    {"FI_MATCH_COMPLETE", bit(31)},
    {"FI_CLAIM", bit(59)},
};

constexpr NamedValue kMsgOrderNames[] = {
    {"FI_ORDER_RAR", bit(0)},         {"FI_ORDER_RAW", bit(1)},
    {"FI_ORDER_RAS", bit(2)},         {"FI_ORDER_WAR", bit(3)},
    {"FI_ORDER_WAW", bit(4)},         {"FI_ORDER_WAS", bit(5)},
    {"FI_ORDER_SAR", bit(6)},         {"FI_ORDER_SAW", bit(7)},
    {"FI_ORDER_SAS", bit(8)},         {"FI_ORDER_RMA_RAR", bit(32)},
    {"FI_ORDER_RMA_RAW", bit(33)},    {"FI_ORDER_RMA_WAR", bit(34)},
    {"FI_ORDER_RMA_WAW", bit(35)},    {"FI_ORDER_ATOMIC_RAR", bit(36)},
    {"FI_ORDER_ATOMIC_RAW", bit(37)}, {"FI_ORDER_ATOMIC_WAR", bit(38)},
    {"FI_ORDER_ATOMIC_WAW", bit(39)},
};

// The former FI_ORDER_STRICT is the combination of bits 0 to 8.
constexpr NamedValue kCompOrderNames[] = {
    {"FI_ORDER_RAR", bit(0)},   {"FI_ORDER_RAW", bit(1)}, {"FI_ORDER_RAS", bit(2)},
    {"FI_ORDER_WAR", bit(3)},   {"FI_ORDER_WAW", bit(4)}, {"FI_ORDER_WAS", bit(5)},
    {"FI_ORDER_SAR", bit(6)},   {"FI_ORDER_SAW", bit(7)}, {"FI_ORDER_SAS", bit(8)},
    {"FI_ORDER_DATA", bit(16)},
};

constexpr NamedValue kMrModeNames[] = {
    {"FI_MR_BASIC", bit(0)},     {"FI_MR_SCALABLE", bit(1)},   {"FI_MR_LOCAL", bit(2)},
    {"FI_MR_RAW", bit(3)},       {"FI_MR_VIRT_ADDR", bit(4)},  {"FI_MR_ALLOCATED", bit(5)},
    {"FI_MR_PROV_KEY", bit(6)},  {"FI_MR_MMU_NOTIFY", bit(7)}, {"FI_MR_RMA_EVENT", bit(8)},
    {"FI_MR_ENDPOINT", bit(9)},  {"FI_MR_HMEM", bit(10)},      {"FI_MR_COLLECTIVE", bit(11)},
    {"FI_MR_XPU_DESC", bit(12)},
};

constexpr NamedValue kMrAccessNames[] = {
    {"FI_COLLECTIVE", bit(6)},   {"FI_READ", bit(8)},          {"FI_WRITE", bit(9)},
    {"FI_RECV", bit(10)},        {"FI_SEND", bit(11)},         {"FI_TRANSMIT", bit(11)},
    {"FI_REMOTE_READ", bit(12)}, {"FI_REMOTE_WRITE", bit(13)},
};

constexpr NamedValue kMrFlagNames[] = {{"FI_EFA_MR_RELAXED_ORDERING", bit(61)}};

constexpr NamedValue kEpTypeNames[] = {
    {"FI_EP_UNSPEC", 0}, {"FI_EP_MSG", 1},         {"FI_EP_DGRAM", 2},
    {"FI_EP_RDM", 3},    {"FI_EP_SOCK_STREAM", 4}, {"FI_EP_SOCK_DGRAM", 5},
};

constexpr NamedValue kProtocolNames[] = {
    {"FI_PROTO_UNSPEC", 0},         {"FI_PROTO_RDMA_CM_IB_RC", 1},
    {"FI_PROTO_IWARP", 2},          {"FI_PROTO_IB_UD", 3},
    {"FI_PROTO_PSMX", 4},           {"FI_PROTO_UDP", 5},
    {"FI_PROTO_SOCK_TCP", 6},       {"FI_PROTO_MXM", 7},
    {"FI_PROTO_IWARP_RDM", 8},      {"FI_PROTO_IB_RDM", 9},
    {"FI_PROTO_GNI", 10},           {"FI_PROTO_RXM", 11},
    {"FI_PROTO_RXD", 12},           {"FI_PROTO_MLX", 13},
    {"FI_PROTO_NETWORKDIRECT", 14}, {"FI_PROTO_PSMX2", 15},
    {"FI_PROTO_SHM", 16},           {"FI_PROTO_MRAIL", 17},
    {"FI_PROTO_RSTREAM", 18},       {"FI_PROTO_RDMA_CM_IB_XRC", 19},
    {"FI_PROTO_EFA", 20},           {"FI_PROTO_PSMX3", 21},
    {"FI_PROTO_RXM_TCP", 22},       {"FI_PROTO_OPX", 23},
    {"FI_PROTO_CXI", 24},           {"FI_PROTO_XNET", 25},
    {"FI_PROTO_COLL", 26},          {"FI_PROTO_UCX", 27},
    {"FI_PROTO_SM2", 28},           {"FI_PROTO_CXI_RNR", 29},
    {"FI_PROTO_LPP", 30},           {"FI_PROTO_LNX", 31},
};

constexpr NamedValue kAddrFormatNames[] = {
    {"FI_FORMAT_UNSPEC", 0}, {"FI_SOCKADDR", 1},     {"FI_SOCKADDR_IN", 2}, {"FI_SOCKADDR_IN6", 3},
    {"FI_SOCKADDR_IB", 4},   {"FI_ADDR_PSMX", 5},    {"FI_ADDR_GNI", 6},    {"FI_ADDR_BGQ", 7},
    {"FI_ADDR_MLX", 8},      {"FI_ADDR_STR", 9},     {"FI_ADDR_PSMX2", 10}, {"FI_ADDR_IB_UD", 11},
    {"FI_ADDR_EFA", 12},     {"FI_ADDR_PSMX3", 13},  {"FI_ADDR_OPX", 14},   {"FI_ADDR_CXI", 15},
    {"FI_ADDR_UCX", 16},     {"FI_SOCKADDR_IP", 17},
};

constexpr NamedValue kAvTypeNames[] = {
    {"FI_AV_UNSPEC", 0},
    {"FI_AV_MAP", 1},
    {"FI_AV_TABLE", 2},
};

constexpr NamedValue kThreadingNames[] = {
    {"FI_THREAD_UNSPEC", 0}, {"FI_THREAD_SAFE", 1},       {"FI_THREAD_FID", 2},
    {"FI_THREAD_DOMAIN", 3}, {"FI_THREAD_COMPLETION", 4}, {"FI_THREAD_ENDPOINT", 5},
};

constexpr NamedValue kProgressNames[] = {
    {"FI_PROGRESS_UNSPEC", 0},
    {"FI_PROGRESS_AUTO", 1},
    {"FI_PROGRESS_MANUAL", 2},
    {"FI_PROGRESS_CONTROL_UNIFIED", 3},
};

constexpr NamedValue kResourceMgmtNames[] = {
    {"FI_RM_UNSPEC", 0},
    {"FI_RM_DISABLED", 1},
    {"FI_RM_ENABLED", 2},
};

// FI_TC_DSCP | code point is written as 'FI_TC_0x1..'.
constexpr NamedValue kTrafficClassNames[] = {
    {"FI_TC_UNSPEC", 0},        {"FI_TC_DSCP", 0x100},        {"FI_TC_BEST_EFFORT", 0x200},
    {"FI_TC_LABEL", 0x200},     {"FI_TC_LOW_LATENCY", 0x201}, {"FI_TC_DEDICATED_ACCESS", 0x202},
    {"FI_TC_BULK_DATA", 0x203}, {"FI_TC_SCAVENGER", 0x204},   {"FI_TC_NETWORK_CTRL", 0x205},
};

constexpr NamedValue kBusTypeNames[] = {
    {"FI_BUS_UNSPEC", 0},
    {"FI_BUS_UNKNOWN", 0},
    {"FI_BUS_PCI", 1},
};

constexpr NamedValue kLinkStateNames[] = {
    {"FI_LINK_UNKNOWN", 0},
    {"FI_LINK_DOWN", 1},
    {"FI_LINK_UP", 2},
};

constexpr NamedValue kCqFormatNames[] = {
    {"FI_CQ_FORMAT_UNSPEC", 0}, {"FI_CQ_FORMAT_CONTEXT", 1}, {"FI_CQ_FORMAT_MSG", 2},
    {"FI_CQ_FORMAT_DATA", 3},   {"FI_CQ_FORMAT_TAGGED", 4},
};

constexpr NamedValue kWaitObjNames[] = {
    {"FI_WAIT_NONE", 0},       {"FI_WAIT_UNSPEC", 1}, {"FI_WAIT_SET", 2},    {"FI_WAIT_FD", 3},
    {"FI_WAIT_MUTEX_COND", 4}, {"FI_WAIT_YIELD", 5},  {"FI_WAIT_POLLFD", 6},
};

constexpr NamedValue kDatatypeNames[] = {
    {"FI_INT8", 0},           {"FI_UINT8", 1},
    {"FI_INT16", 2},          {"FI_UINT16", 3},
    {"FI_INT32", 4},          {"FI_UINT32", 5},
    {"FI_INT64", 6},          {"FI_UINT64", 7},
    {"FI_FLOAT", 8},          {"FI_DOUBLE", 9},
    {"FI_FLOAT_COMPLEX", 10}, {"FI_DOUBLE_COMPLEX", 11},
    {"FI_LONG_DOUBLE", 12},   {"FI_LONG_DOUBLE_COMPLEX", 13},
    {"FI_INT128", 14},        {"FI_UINT128", 15},
    {"FI_FLOAT16", 16},       {"FI_BFLOAT16", 17},
    {"FI_FLOAT8_E4M3", 18},   {"FI_FLOAT8_E5M2", 19},
    {"FI_VOID", 256},
};

constexpr NamedValue kAtomicOpNames[] = {
    {"FI_MIN", 0},       {"FI_MAX", 1},       {"FI_SUM", 2},          {"FI_PROD", 3},
    {"FI_LOR", 4},       {"FI_LAND", 5},      {"FI_BOR", 6},          {"FI_BAND", 7},
    {"FI_LXOR", 8},      {"FI_BXOR", 9},      {"FI_ATOMIC_READ", 10}, {"FI_ATOMIC_WRITE", 11},
    {"FI_CSWAP", 12},    {"FI_CSWAP_NE", 13}, {"FI_CSWAP_LE", 14},    {"FI_CSWAP_LT", 15},
    {"FI_CSWAP_GE", 16}, {"FI_CSWAP_GT", 17}, {"FI_MSWAP", 18},       {"FI_DIFF", 19},
    {"FI_NOOP", 256},
};

constexpr NamedValue kParamTypeNames[] = {
    {"FI_PARAM_STRING", 0},
    {"FI_PARAM_INT", 1},
    {"FI_PARAM_BOOL", 2},
    {"FI_PARAM_SIZE_T", 3},
};

constexpr NamedValue kHmemIfaceNames[] = {
    {"FI_HMEM_SYSTEM", 0}, {"FI_HMEM_CUDA", 1},   {"FI_HMEM_ROCR", 2},
    {"FI_HMEM_ZE", 3},     {"FI_HMEM_NEURON", 4}, {"FI_HMEM_SYNAPSEAI", 5},
};

}  // namespace

const FlagTable kCaps = {"caps", list(kCapNames)};
const FlagTable kModes = {"mode", list(kModeNames)};
const FlagTable kGetInfoFlags = {"getinfo", list(kGetInfoFlagNames)};
const FlagTable kOpFlags = {"op", list(kOpFlagNames)};
const FlagTable kCompletionFlags = {"completion", list(kCompletionFlagNames)};
const FlagTable kMsgOrders = {"msgOrder", list(kMsgOrderNames)};
const FlagTable kCompOrders = {"compOrder", list(kCompOrderNames)};
const FlagTable kMrModes = {"mrMode", list(kMrModeNames)};
const FlagTable kMrAccess = {"mrAccess", list(kMrAccessNames)};
const FlagTable kMrFlags = {"mrFlags", list(kMrFlagNames)};

const EnumTable kEpTypes = {"epType", "FI_EP_", list(kEpTypeNames)};
const EnumTable kProtocols = {"protocol", "FI_PROTO_", list(kProtocolNames)};
const EnumTable kAddrFormats = {"addrFormat", "FI_ADDR_", list(kAddrFormatNames)};
const EnumTable kAvTypes = {"avType", "FI_AV_", list(kAvTypeNames)};
const EnumTable kThreadings = {"threading", "FI_THREAD_", list(kThreadingNames)};
const EnumTable kProgresses = {"progress", "FI_PROGRESS_", list(kProgressNames)};
const EnumTable kResourceMgmts = {"resourceMgmt", "FI_RM_", list(kResourceMgmtNames)};
const EnumTable kTrafficClasses = {"tclass", "FI_TC_", list(kTrafficClassNames)};
const EnumTable kBusTypes = {"busType", "FI_BUS_", list(kBusTypeNames)};
const EnumTable kLinkStates = {"linkState", "FI_LINK_", list(kLinkStateNames)};
const EnumTable kCqFormats = {"cqFormat", "FI_CQ_FORMAT_", list(kCqFormatNames)};
const EnumTable kWaitObjs = {"waitObj", "FI_WAIT_", list(kWaitObjNames)};
const EnumTable kDatatypes = {"datatype", "FI_DATATYPE_", list(kDatatypeNames)};
const EnumTable kAtomicOps = {"atomicOp", "FI_OP_", list(kAtomicOpNames)};
const EnumTable kParamTypes = {"paramType", "FI_PARAM_", list(kParamTypeNames)};
const EnumTable kHmemIfaces = {"hmemIface", "FI_HMEM_", list(kHmemIfaceNames)};

}  // namespace fab
