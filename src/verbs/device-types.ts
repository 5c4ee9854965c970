import type { NearAccelerator } from './accelerators.js';
import type { VerbsError } from './errors.js';

/** An RDMA device of this machine. An unknown value is null. */
export interface Device {
  /** `'rdmap0s31'`, `'mlx5_0'`, `'softefa_0'`. */
  readonly name: string;
  /** `'0000:0000:0000:0001'`, as in sysfs. */
  readonly nodeGuid: string | null;
  readonly systemImageGuid: string | null;
  /** Its folder in sysfs, which contains its counters. */
  readonly sysfsPath: string;
  /** `'0000:00:1f.0'`. Null for a device that is not on a PCI bus. */
  readonly pciAddress: string | null;
  /** Null if the machine has one node or does not report it. */
  readonly numaNode: number | null;
  /** The kernel module: `'efa'`. */
  readonly driver: string | null;
  /** Null for a module without a version, such as those of the kernel's own tree. */
  readonly driverVersion: string | null;
  readonly firmware: string | null;
  /** From ibv_query_device(3), or from PCI if the device cannot be opened. */
  readonly vendorId: number | null;
  readonly vendorPartId: number | null;
  readonly hardwareVersion: number | null;
  /** Names of ibv_device_cap_flags without `IBV_DEVICE_`. */
  readonly capabilities: readonly string[];
  readonly atomics: 'NONE' | 'HCA' | 'GLOB' | null;
  /** ibv_query_device(3). */
  readonly limits: DeviceLimits | null;
  readonly ports: readonly Port[];
  /** efadv_query_device(3). Null if the device is not an EFA. */
  readonly efa: EfaAttributes | null;
  /** Its domain names in libfabric (`domainAttr.name`): `NAME-rdm` and `NAME-dgrm` for an EFA. */
  readonly domains: readonly string[];
  /** The GPUs and other accelerators of this machine, the nearest first. Empty if not on a PCI bus. */
  readonly accelerators: readonly NearAccelerator[];
  /** Whether it is a software device: softefa. */
  readonly emulated: boolean;
  /**
   * The error if the device could not be opened or queried. The other fields are then from sysfs.
   */
  readonly error: VerbsError | (Error & { readonly code: string }) | null;
}

/** The limits of ibv_query_device(3), by its names. */
export interface DeviceLimits {
  /** Bytes of a memory region. */
  readonly maxMrSize: bigint;
  /** The supported page sizes, one bit each. */
  readonly pageSizeCap: bigint;
  readonly maxQp: number;
  readonly maxQpWr: number;
  readonly maxSge: number;
  readonly maxSgeRd: number;
  readonly maxCq: number;
  readonly maxCqe: number;
  readonly maxMr: number;
  readonly maxPd: number;
  readonly maxQpRdAtom: number;
  readonly maxEeRdAtom: number;
  readonly maxResRdAtom: number;
  readonly maxQpInitRdAtom: number;
  readonly maxEeInitRdAtom: number;
  readonly maxEe: number;
  readonly maxRdd: number;
  readonly maxMw: number;
  readonly maxRawIpv6Qp: number;
  readonly maxRawEthyQp: number;
  readonly maxMcastGrp: number;
  readonly maxMcastQpAttach: number;
  readonly maxTotalMcastQpAttach: number;
  readonly maxAh: number;
  readonly maxSrq: number;
  readonly maxSrqWr: number;
  readonly maxSrqSge: number;
  readonly maxPkeys: number;
  readonly localCaAckDelay: number;
}

/** ibv_query_port(3), state. */
export type PortState = 'NOP' | 'DOWN' | 'INIT' | 'ARMED' | 'ACTIVE' | 'ACTIVE_DEFER';

/** ibv_query_port(3), phys_state. */
export type PhysicalState =
  | 'SLEEP'
  | 'POLLING'
  | 'DISABLED'
  | 'PORT_CONFIGURATION_TRAINING'
  | 'LINK_UP'
  | 'LINK_ERROR_RECOVERY'
  | 'PHY_TEST';

/** ibv_query_port(3), link_layer. */
export type LinkLayer = 'UNSPECIFIED' | 'INFINIBAND' | 'ETHERNET';

/** ibv_query_port(3). */
export interface Port {
  /** From 1. */
  readonly number: number;
  readonly state: PortState | null;
  readonly physicalState: PhysicalState | null;
  readonly linkLayer: LinkLayer | null;
  /** Bytes. */
  readonly maxMtu: number | null;
  /** Bytes. An EFA reports 4096 but supports more: see maxMessageSize. */
  readonly activeMtu: number | null;
  /** Bytes. */
  readonly maxMessageSize: number | null;
  readonly lid: number | null;
  /** Lanes. */
  readonly activeWidth: number | null;
  /** Nominal Gbit/s of all lanes, as the rate in sysfs. */
  readonly speed: number | null;
  /** The GIDs that are set. */
  readonly gids: readonly Gid[];
}

/** An address of a port: ibv_query_gid(3). */
export interface Gid {
  readonly index: number;
  /** `'fe80:0000:0000:0000:0000:0000:0000:0001'`. */
  readonly gid: string;
  /** `'RoCE v2'`, `'IB/RoCE v1'`. */
  readonly type: string | null;
  /** The network device of a RoCE GID: `'eth0'`. */
  readonly netdev: string | null;
}

/** A capability of an EFA, or `'0x80'` for one without a name here. */
export type EfaCapability =
  | 'RDMA_READ'
  | 'RNR_RETRY'
  | 'CQ_WITH_SGID'
  | 'RDMA_WRITE'
  | 'UNSOLICITED_WRITE_RECV'
  | 'CQ_WITH_EXT_MEM_DMABUF'
  | 'COMP_CNTR'
  | (string & {});

/** efadv_query_device(3). rdma-core does not report capabilities that are newer than itself. */
export interface EfaAttributes {
  readonly compMask: bigint;
  readonly maxSqWr: number;
  readonly maxRqWr: number;
  readonly maxSqSge: number;
  readonly maxRqSge: number;
  /** Bytes of inline data in a send. */
  readonly inlineBufSize: number;
  /**
   * Bytes of inline data with the larger descriptors. 0 if rdma-core or the device does not support
   * them.
   */
  readonly inlineBufSizeEx: number;
  /** Bytes of one RDMA read or write. 0 if the device supports neither. */
  readonly maxRdmaSize: number;
  readonly capabilities: readonly EfaCapability[];
}
