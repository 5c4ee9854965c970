/**
 * libfabric's own names for its bits and enumerations, up to libfabric 2.6. Flags are arrays of
 * these names; an enumeration is one of them. The addon converts them to numbers and back.
 *
 * Values of a newer libfabric that have no name here are kept: a bit reads `'bit 42'`, an
 * enumeration value `'FI_ADDR_0x2a'`. Both can be passed back.
 */

/** A bit that has no name here. */
export type UnknownBit = `bit ${number}`;

/**
 * Capabilities: fi_getinfo(3). `FI_VARIABLE_MSG` exists in libfabric 1 only,
 * `FI_EXACT_DIRECTED_RECV` in libfabric 2.
 */
export type Cap =
  | 'FI_MSG'
  | 'FI_RMA'
  | 'FI_TAGGED'
  | 'FI_ATOMIC'
  | 'FI_ATOMICS'
  | 'FI_MULTICAST'
  | 'FI_COLLECTIVE'
  | 'FI_READ'
  | 'FI_WRITE'
  | 'FI_RECV'
  | 'FI_SEND'
  | 'FI_TRANSMIT'
  | 'FI_REMOTE_READ'
  | 'FI_REMOTE_WRITE'
  | 'FI_MULTI_RECV'
  | 'FI_REMOTE_CQ_DATA'
  | 'FI_TRIGGER'
  | 'FI_FENCE'
  | 'FI_AV_USER_ID'
  | 'FI_PEER'
  | 'FI_XPU'
  | 'FI_TAGGED_DIRECTED_RECV'
  | 'FI_TAGGED_MULTI_RECV'
  | 'FI_HMEM'
  | 'FI_VARIABLE_MSG'
  | 'FI_EXACT_DIRECTED_RECV'
  | 'FI_RMA_PMEM'
  | 'FI_SOURCE_ERR'
  | 'FI_LOCAL_COMM'
  | 'FI_REMOTE_COMM'
  | 'FI_SHARED_AV'
  | 'FI_RMA_EVENT'
  | 'FI_SOURCE'
  | 'FI_NAMED_RX_CTX'
  | 'FI_DIRECTED_RECV';

/** Modes that a provider requires of its caller: fi_getinfo(3), Mode. */
export type Mode =
  | 'FI_PEER_TRANSFER'
  | 'FI_BUFFERED_RECV'
  | 'FI_CONTEXT2'
  | 'FI_RESTRICTED_COMP'
  | 'FI_NOTIFY_FLAGS_ONLY'
  | 'FI_LOCAL_MR'
  | 'FI_RX_CQ_DATA'
  | 'FI_ASYNC_IOV'
  | 'FI_MSG_PREFIX'
  | 'FI_CONTEXT';

/** Flags of the fi_getinfo(3) call itself. */
export type GetInfoFlag = 'FI_RESCAN' | 'FI_PROV_ATTR_ONLY' | 'FI_NUMERICHOST' | 'FI_SOURCE';

/** Flags of one operation: fi_msg(3), fi_tagged(3), fi_rma(3), fi_atomic(3). */
export type OpFlag =
  | 'FI_TAGGED'
  | 'FI_MULTICAST'
  | 'FI_MULTI_RECV'
  | 'FI_REMOTE_CQ_DATA'
  | 'FI_MORE'
  | 'FI_PEEK'
  | 'FI_TRIGGER'
  | 'FI_FENCE'
  | 'FI_PRIORITY'
  | 'FI_COMPLETION'
  | 'FI_EVENT'
  | 'FI_INJECT'
  | 'FI_INJECT_COMPLETE'
  | 'FI_TRANSMIT_COMPLETE'
  | 'FI_DELIVERY_COMPLETE'
  | 'FI_AFFINITY'
  | 'FI_COMMIT_COMPLETE'
  | 'FI_MATCH_COMPLETE'
  | 'FI_XPU_TRIGGER'
  | 'FI_AUTH_KEY'
  | 'FI_DISCARD'
  | 'FI_CLAIM'
  | 'FI_EFA_WR_HIGH_PPS';

/** Flags of a completion: fi_cq(3). */
export type CompletionFlag =
  | 'FI_MSG'
  | 'FI_RMA'
  | 'FI_TAGGED'
  | 'FI_ATOMIC'
  | 'FI_MULTICAST'
  | 'FI_COLLECTIVE'
  | 'FI_READ'
  | 'FI_WRITE'
  | 'FI_RECV'
  | 'FI_SEND'
  | 'FI_TRANSMIT'
  | 'FI_REMOTE_READ'
  | 'FI_REMOTE_WRITE'
  | 'FI_MULTI_RECV'
  | 'FI_REMOTE_CQ_DATA'
  | 'FI_MORE'
  | 'FI_COMPLETION'
  | 'FI_INJECT'
  | 'FI_INJECT_COMPLETE'
  | 'FI_TRANSMIT_COMPLETE'
  | 'FI_DELIVERY_COMPLETE'
  | 'FI_COMMIT_COMPLETE'
  | 'FI_MATCH_COMPLETE'
  | 'FI_CLAIM';

/** Message ordering: fi_endpoint(3). `FI_ORDER_SAW`: sends after writes. */
export type MsgOrder =
  | 'FI_ORDER_RAR'
  | 'FI_ORDER_RAW'
  | 'FI_ORDER_RAS'
  | 'FI_ORDER_WAR'
  | 'FI_ORDER_WAW'
  | 'FI_ORDER_WAS'
  | 'FI_ORDER_SAR'
  | 'FI_ORDER_SAW'
  | 'FI_ORDER_SAS'
  | 'FI_ORDER_RMA_RAR'
  | 'FI_ORDER_RMA_RAW'
  | 'FI_ORDER_RMA_WAR'
  | 'FI_ORDER_RMA_WAW'
  | 'FI_ORDER_ATOMIC_RAR'
  | 'FI_ORDER_ATOMIC_RAW'
  | 'FI_ORDER_ATOMIC_WAR'
  | 'FI_ORDER_ATOMIC_WAW';

/** Completion ordering: fi_endpoint(3). */
export type CompOrder =
  | 'FI_ORDER_RAR'
  | 'FI_ORDER_RAW'
  | 'FI_ORDER_RAS'
  | 'FI_ORDER_WAR'
  | 'FI_ORDER_WAW'
  | 'FI_ORDER_WAS'
  | 'FI_ORDER_SAR'
  | 'FI_ORDER_SAW'
  | 'FI_ORDER_SAS'
  | 'FI_ORDER_DATA';

/** Memory registration modes: fi_domain(3), fi_mr(3). */
export type MrMode =
  | 'FI_MR_BASIC'
  | 'FI_MR_SCALABLE'
  | 'FI_MR_LOCAL'
  | 'FI_MR_RAW'
  | 'FI_MR_VIRT_ADDR'
  | 'FI_MR_ALLOCATED'
  | 'FI_MR_PROV_KEY'
  | 'FI_MR_MMU_NOTIFY'
  | 'FI_MR_RMA_EVENT'
  | 'FI_MR_ENDPOINT'
  | 'FI_MR_HMEM'
  | 'FI_MR_COLLECTIVE'
  | 'FI_MR_XPU_DESC';

/** Access rights of a memory region: fi_mr(3). */
export type MrAccess =
  | 'FI_COLLECTIVE'
  | 'FI_READ'
  | 'FI_WRITE'
  | 'FI_RECV'
  | 'FI_SEND'
  | 'FI_TRANSMIT'
  | 'FI_REMOTE_READ'
  | 'FI_REMOTE_WRITE';

/**
 * Flags of a registration. FI_EFA_MR_RELAXED_ORDERING lets an EFA write memory in any order: a completion then no longer
 * means that earlier operations of the same endpoint have reached this memory. It takes effect on `efa-direct` of libfabric
 * 2.7 and later; `efa` ignores it, other providers and releases refuse it (FI_EOPNOTSUPP): fi_efa(7).
 */
export type MrFlag = 'FI_EFA_MR_RELAXED_ORDERING';

/** Interfaces of device memory: enum fi_hmem_iface of fi_mr(3). */
export type HmemIface =
  | 'FI_HMEM_SYSTEM'
  | 'FI_HMEM_CUDA'
  | 'FI_HMEM_ROCR'
  | 'FI_HMEM_ZE'
  | 'FI_HMEM_NEURON'
  | 'FI_HMEM_SYNAPSEAI';

/** Endpoint types: fi_endpoint(3). */
export type EpType =
  | 'FI_EP_UNSPEC'
  | 'FI_EP_MSG'
  | 'FI_EP_DGRAM'
  | 'FI_EP_RDM'
  | 'FI_EP_SOCK_STREAM'
  | 'FI_EP_SOCK_DGRAM';

/**
 * The endpoint types that this package can open: the connectionless ones. EFA has no others.
 * FI_EP_MSG would need the calls of fi_cm(3).
 */
export type OpenableEpType = Extract<EpType, 'FI_EP_RDM' | 'FI_EP_DGRAM'>;

/** Wire protocols: fi_endpoint(3). */
export type Protocol =
  | 'FI_PROTO_UNSPEC'
  | 'FI_PROTO_RDMA_CM_IB_RC'
  | 'FI_PROTO_IWARP'
  | 'FI_PROTO_IB_UD'
  | 'FI_PROTO_PSMX'
  | 'FI_PROTO_UDP'
  | 'FI_PROTO_SOCK_TCP'
  | 'FI_PROTO_MXM'
  | 'FI_PROTO_IWARP_RDM'
  | 'FI_PROTO_IB_RDM'
  | 'FI_PROTO_GNI'
  | 'FI_PROTO_RXM'
  | 'FI_PROTO_RXD'
  | 'FI_PROTO_MLX'
  | 'FI_PROTO_NETWORKDIRECT'
  | 'FI_PROTO_PSMX2'
  | 'FI_PROTO_SHM'
  | 'FI_PROTO_MRAIL'
  | 'FI_PROTO_RSTREAM'
  | 'FI_PROTO_RDMA_CM_IB_XRC'
  | 'FI_PROTO_EFA'
  | 'FI_PROTO_PSMX3'
  | 'FI_PROTO_RXM_TCP'
  | 'FI_PROTO_OPX'
  | 'FI_PROTO_CXI'
  | 'FI_PROTO_XNET'
  | 'FI_PROTO_COLL'
  | 'FI_PROTO_UCX'
  | 'FI_PROTO_SM2'
  | 'FI_PROTO_CXI_RNR'
  | 'FI_PROTO_LPP'
  | 'FI_PROTO_LNX'
  | `FI_PROTO_0x${string}`;

/** Address formats: fi_getinfo(3). */
export type AddrFormat =
  | 'FI_FORMAT_UNSPEC'
  | 'FI_SOCKADDR'
  | 'FI_SOCKADDR_IN'
  | 'FI_SOCKADDR_IN6'
  | 'FI_SOCKADDR_IB'
  | 'FI_ADDR_PSMX'
  | 'FI_ADDR_GNI'
  | 'FI_ADDR_BGQ'
  | 'FI_ADDR_MLX'
  | 'FI_ADDR_STR'
  | 'FI_ADDR_PSMX2'
  | 'FI_ADDR_IB_UD'
  | 'FI_ADDR_EFA'
  | 'FI_ADDR_PSMX3'
  | 'FI_ADDR_OPX'
  | 'FI_ADDR_CXI'
  | 'FI_ADDR_UCX'
  | 'FI_SOCKADDR_IP'
  | `FI_ADDR_0x${string}`;

/** Address vector types: fi_av(3). */
export type AvType = 'FI_AV_UNSPEC' | 'FI_AV_MAP' | 'FI_AV_TABLE' | `FI_AV_0x${string}`;

/** Threading models: fi_domain(3). */
export type Threading =
  | 'FI_THREAD_UNSPEC'
  | 'FI_THREAD_SAFE'
  | 'FI_THREAD_FID'
  | 'FI_THREAD_DOMAIN'
  | 'FI_THREAD_COMPLETION'
  | 'FI_THREAD_ENDPOINT'
  | `FI_THREAD_0x${string}`;

/** Progress models: fi_domain(3). */
export type Progress =
  | 'FI_PROGRESS_UNSPEC'
  | 'FI_PROGRESS_AUTO'
  | 'FI_PROGRESS_MANUAL'
  | 'FI_PROGRESS_CONTROL_UNIFIED'
  | `FI_PROGRESS_0x${string}`;

/** Resource management: fi_domain(3). */
export type ResourceMgmt =
  | 'FI_RM_UNSPEC'
  | 'FI_RM_DISABLED'
  | 'FI_RM_ENABLED'
  | `FI_RM_0x${string}`;

/**
 * Traffic classes: fi_endpoint(3). A DSCP code point `n` reads `FI_TC_0x1` and `n` in two digits
 * of hex.
 */
export type TrafficClass =
  | 'FI_TC_UNSPEC'
  | 'FI_TC_DSCP'
  | 'FI_TC_BEST_EFFORT'
  | 'FI_TC_LABEL'
  | 'FI_TC_LOW_LATENCY'
  | 'FI_TC_DEDICATED_ACCESS'
  | 'FI_TC_BULK_DATA'
  | 'FI_TC_SCAVENGER'
  | 'FI_TC_NETWORK_CTRL'
  | `FI_TC_0x${string}`;

/** Buses: fi_nic(3). */
export type BusType = 'FI_BUS_UNSPEC' | 'FI_BUS_UNKNOWN' | 'FI_BUS_PCI' | `FI_BUS_0x${string}`;

/** Link states: fi_nic(3). */
export type LinkState = 'FI_LINK_UNKNOWN' | 'FI_LINK_DOWN' | 'FI_LINK_UP' | `FI_LINK_0x${string}`;

/** Completion formats: fi_cq(3). */
export type CqFormat =
  | 'FI_CQ_FORMAT_UNSPEC'
  | 'FI_CQ_FORMAT_CONTEXT'
  | 'FI_CQ_FORMAT_MSG'
  | 'FI_CQ_FORMAT_DATA'
  | 'FI_CQ_FORMAT_TAGGED';

/** Wait objects: fi_cq(3). */
export type WaitObj =
  | 'FI_WAIT_NONE'
  | 'FI_WAIT_UNSPEC'
  | 'FI_WAIT_SET'
  | 'FI_WAIT_FD'
  | 'FI_WAIT_MUTEX_COND'
  | 'FI_WAIT_YIELD'
  | 'FI_WAIT_POLLFD';

/** Datatypes of atomics: fi_atomic(3). */
export type Datatype =
  | 'FI_INT8'
  | 'FI_UINT8'
  | 'FI_INT16'
  | 'FI_UINT16'
  | 'FI_INT32'
  | 'FI_UINT32'
  | 'FI_INT64'
  | 'FI_UINT64'
  | 'FI_FLOAT'
  | 'FI_DOUBLE'
  | 'FI_FLOAT_COMPLEX'
  | 'FI_DOUBLE_COMPLEX'
  | 'FI_LONG_DOUBLE'
  | 'FI_LONG_DOUBLE_COMPLEX'
  | 'FI_INT128'
  | 'FI_UINT128'
  | 'FI_FLOAT16'
  | 'FI_BFLOAT16'
  | 'FI_FLOAT8_E4M3'
  | 'FI_FLOAT8_E5M2'
  | 'FI_VOID';

/** Operations of atomics: fi_atomic(3). */
export type AtomicOp =
  | 'FI_MIN'
  | 'FI_MAX'
  | 'FI_SUM'
  | 'FI_PROD'
  | 'FI_LOR'
  | 'FI_LAND'
  | 'FI_BOR'
  | 'FI_BAND'
  | 'FI_LXOR'
  | 'FI_BXOR'
  | 'FI_ATOMIC_READ'
  | 'FI_ATOMIC_WRITE'
  | 'FI_CSWAP'
  | 'FI_CSWAP_NE'
  | 'FI_CSWAP_LE'
  | 'FI_CSWAP_LT'
  | 'FI_CSWAP_GE'
  | 'FI_CSWAP_GT'
  | 'FI_MSWAP'
  | 'FI_DIFF'
  | 'FI_NOOP';

/** Types of libfabric's environment variables: fi_provider(3). */
export type ParamType =
  | 'FI_PARAM_STRING'
  | 'FI_PARAM_INT'
  | 'FI_PARAM_BOOL'
  | 'FI_PARAM_SIZE_T'
  | `FI_PARAM_0x${string}`;
