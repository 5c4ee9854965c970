/** The C type of an option's value, and its JavaScript type. */
export interface OptionValues {
  /** size_t */
  size: number | bigint;
  /** int */
  int: number;
  /** bool */
  bool: boolean;
  /** uint16_t */
  u16: number;
  /** uint32_t */
  u32: number;
}

/** One option of fi_setopt(3) and fi_getopt(3). */
export interface OptionSpec {
  readonly level: number;
  readonly name: number;
  readonly type: keyof OptionValues;
  /** Whether it can be read (fi_getopt), written (fi_setopt) or both. */
  readonly access: 'r' | 'w' | 'rw';
  /** The first version of libfabric that has the option. */
  readonly since: string;
}

const FI_OPT_ENDPOINT = 0;

// Provider-specific names are negative and grow towards zero.
const EFA = -0xefa0000;

// Options that are older than 1.17, the oldest libfabric this package supports, have 1.17 here.
const option = <T extends keyof OptionValues, A extends OptionSpec['access']>(
  name: number,
  type: T,
  access: A,
  since = '1.17',
) => Object.freeze({ level: FI_OPT_ENDPOINT, name, type, access, since } as const);

/**
 * Every endpoint option of fi_endpoint(3) and fi_efa(7) up to libfabric 2.6. A provider that does
 * not know an option returns FI_ENOPROTOOPT. Options are set before the endpoint is enabled.
 */
export const endpointOptions = Object.freeze({
  /** When fewer bytes of a multi-receive buffer are free, the provider releases it. */
  FI_OPT_MIN_MULTI_RECV: option(0, 'size', 'rw'),
  /** Bytes of user data in connection management messages. */
  FI_OPT_CM_DATA_SIZE: option(1, 'size', 'r'),
  FI_OPT_BUFFERED_MIN: option(2, 'size', 'rw'),
  FI_OPT_BUFFERED_LIMIT: option(3, 'size', 'rw'),
  FI_OPT_SEND_BUF_SIZE: option(4, 'u32', 'w'),
  FI_OPT_RECV_BUF_SIZE: option(5, 'u32', 'w'),
  FI_OPT_TX_SIZE: option(6, 'u16', 'w'),
  FI_OPT_RX_SIZE: option(7, 'u16', 'w'),
  /** FI_HMEM_P2P_ENABLED 0, _REQUIRED 1, _PREFERRED 2, _DISABLED 3. */
  FI_OPT_FI_HMEM_P2P: option(8, 'int', 'rw'),
  // FI_OPT_XPU_TRIGGER (9) is not exposed: the provider writes through pointers in its structure,
  // and libfabric 2 has removed it.
  FI_OPT_CUDA_API_PERMITTED: option(10, 'bool', 'rw', '1.18'),
  /** Whether peers on the same host may be reached through shared memory. */
  FI_OPT_SHARED_MEMORY_PERMITTED: option(11, 'bool', 'w', '1.21'),
  /** Bytes in one untagged message. */
  FI_OPT_MAX_MSG_SIZE: option(12, 'size', 'rw', '1.22'),
  /** Bytes in one tagged message. */
  FI_OPT_MAX_TAGGED_SIZE: option(13, 'size', 'rw', '1.22'),
  /** Bytes in one RMA operation. */
  FI_OPT_MAX_RMA_SIZE: option(14, 'size', 'rw', '1.22'),
  /** Bytes in one atomic operation. */
  FI_OPT_MAX_ATOMIC_SIZE: option(15, 'size', 'rw', '1.22'),
  /** Bytes that inject takes. */
  FI_OPT_INJECT_MSG_SIZE: option(16, 'size', 'rw', '1.22'),
  /** Bytes that tinject takes. */
  FI_OPT_INJECT_TAGGED_SIZE: option(17, 'size', 'rw', '1.22'),
  /** Bytes that inject_write takes. */
  FI_OPT_INJECT_RMA_SIZE: option(18, 'size', 'rw', '1.22'),
  /** Bytes that inject_atomic takes. */
  FI_OPT_INJECT_ATOMIC_SIZE: option(19, 'size', 'rw', '1.22'),
  /** Whether this endpoint is behind a firewall and must initiate connections. */
  FI_OPT_FIREWALL_ADDR: option(20, 'bool', 'rw', '2.2'),

  /** Retries if the receiver has no buffer: 0 to 6, or 7 for unlimited. */
  FI_OPT_EFA_RNR_RETRY: option(EFA, 'size', 'rw'),
  /** Whether reads are emulated in software. */
  FI_OPT_EFA_EMULATED_READ: option(EFA + 1, 'bool', 'r', '1.18'),
  /** Whether writes are emulated in software. */
  FI_OPT_EFA_EMULATED_WRITE: option(EFA + 2, 'bool', 'r', '1.18'),
  /** Whether atomics are emulated in software. */
  FI_OPT_EFA_EMULATED_ATOMICS: option(EFA + 3, 'bool', 'r', '1.18'),
  /**
   * Whether the device does reads and writes if it can. FI_ENOPROTOOPT if the requested
   * `apiVersion` is below 1.18.
   */
  FI_OPT_EFA_USE_DEVICE_RDMA: option(EFA + 4, 'bool', 'w', '1.18'),
  FI_OPT_EFA_SENDRECV_IN_ORDER_ALIGNED_128_BYTES: option(EFA + 5, 'bool', 'w', '1.18'),
  FI_OPT_EFA_WRITE_IN_ORDER_ALIGNED_128_BYTES: option(EFA + 6, 'bool', 'w', '1.18'),
  /**
   * Whether all peers run the same libfabric on the same kind of device. Then there is no
   * handshake.
   */
  FI_OPT_EFA_HOMOGENEOUS_PEERS: option(EFA + 7, 'bool', 'w', '2.2'),
  /** If false, writes with data consume a posted receive, with mode FI_RX_CQ_DATA. */
  FI_OPT_EFA_USE_UNSOLICITED_WRITE_RECV: option(EFA + 8, 'bool', 'w', '2.5'),
}) satisfies Readonly<Record<string, OptionSpec>>;

/** The name of an endpoint option: `'FI_OPT_EFA_RNR_RETRY'`. */
export type EndpointOption = keyof typeof endpointOptions;

type Options = typeof endpointOptions;

/** The names of the options that can be read. */
export type ReadableOption = {
  [K in EndpointOption]: Options[K]['access'] extends 'w' ? never : K;
}[EndpointOption];

/** The names of the options that can be set. */
export type WritableOption = {
  [K in EndpointOption]: Options[K]['access'] extends 'r' ? never : K;
}[EndpointOption];

/** The type of an option's value. */
export type OptionValue<K extends EndpointOption> = OptionValues[Options[K]['type']];
