import type {
  AddrFormat,
  AvType,
  BusType,
  Cap,
  CompOrder,
  EpType,
  LinkState,
  Mode,
  MrMode,
  MsgOrder,
  OpFlag,
  ParamType,
  Progress,
  Protocol,
  ResourceMgmt,
  Threading,
  TrafficClass,
  UnknownBit,
} from '../base/flags.js';

/** A set of flags by name. */
export type Flags<Name extends string> = readonly (Name | UnknownBit)[];

declare const requested: unique symbol;

/**
 * One entry of {@link getInfo}: a provider's offer of an endpoint of type `T` with at least the
 * capabilities `C`. See fi_getinfo(3).
 *
 * Counts and sizes are numbers. A count above 2^53, with which a provider says "no limit", is
 * `Infinity`. Masks, tags and the sizes that providers do set beyond 2^53 are bigints. Versions
 * have the form `'major.minor'`. Values that the provider does not give are null.
 */
export interface Info<T extends EpType = EpType, C extends Cap = Cap> {
  /** The capabilities of an endpoint that is opened with this entry. */
  readonly caps: Flags<Cap>;
  /** The modes that the provider requires of its caller. */
  readonly mode: Flags<Mode>;
  readonly addrFormat: AddrFormat;
  /** The local address, in `addrFormat`. */
  readonly srcAddr: Uint8Array | null;
  /** The address of the requested node, in `addrFormat`. */
  readonly destAddr: Uint8Array | null;
  readonly txAttr: TxAttr;
  readonly rxAttr: RxAttr;
  readonly epAttr: EpAttr<T>;
  readonly domainAttr: DomainAttr;
  readonly fabricAttr: FabricAttr;
  /** The network card, if the provider is bound to one: fi_nic(3). */
  readonly nic: Nic | null;
  /** In the type only: an entry with more capabilities can be used where fewer are needed. */
  readonly [requested]?: (caps: C) => void;
}

/** An entry of any type and capabilities. */
export type AnyInfo = Info<EpType, never>;

/** Transmit context attributes: fi_endpoint(3). */
export interface TxAttr {
  readonly caps: Flags<Cap>;
  readonly mode: Flags<Mode>;
  /** Flags that every transmit operation has by default. */
  readonly opFlags: Flags<OpFlag>;
  readonly msgOrder: Flags<MsgOrder>;
  readonly compOrder: Flags<CompOrder>;
  /** The most bytes of an inject call. */
  readonly injectSize: number;
  /** The most outstanding operations. */
  readonly size: number;
  /** The most local buffers of one operation. */
  readonly iovLimit: number;
  /** The most remote buffers of one RMA operation. */
  readonly rmaIovLimit: number;
  readonly tclass: TrafficClass;
}

/** Receive context attributes: fi_endpoint(3). */
export interface RxAttr {
  readonly caps: Flags<Cap>;
  readonly mode: Flags<Mode>;
  /** Flags that every receive has by default. */
  readonly opFlags: Flags<OpFlag>;
  readonly msgOrder: Flags<MsgOrder>;
  readonly compOrder: Flags<CompOrder>;
  /** The bytes of unexpected messages that the provider buffers. */
  readonly totalBufferedRecv: number;
  /** The most outstanding receives. */
  readonly size: number;
  /** The most local buffers of one receive. */
  readonly iovLimit: number;
}

/** A number of contexts, or FI_SHARED_CONTEXT if endpoints share one. */
export type ContextCount = number | 'FI_SHARED_CONTEXT';

/** Endpoint attributes: fi_endpoint(3). */
export interface EpAttr<T extends EpType = EpType> {
  readonly type: T;
  readonly protocol: Protocol;
  readonly protocolVersion: number;
  /** Bytes in one transfer. */
  readonly maxMsgSize: bigint;
  /** Bytes of prefix in front of every message, with mode FI_MSG_PREFIX. */
  readonly msgPrefixSize: number;
  /** Bytes up to which a read sees an earlier write: FI_ORDER_RAW. */
  readonly maxOrderRawSize: bigint;
  readonly maxOrderWarSize: bigint;
  readonly maxOrderWawSize: bigint;
  /** The usable bits of a tag, and their groups. */
  readonly memTagFormat: bigint;
  readonly txCtxCnt: ContextCount;
  readonly rxCtxCnt: ContextCount;
  readonly authKey: Uint8Array | null;
}

/** Domain attributes: fi_domain(3). */
export interface DomainAttr {
  readonly name: string | null;
  readonly threading: Threading;
  readonly controlProgress: Progress;
  readonly dataProgress: Progress;
  readonly resourceMgmt: ResourceMgmt;
  readonly avType: AvType;
  /** The provider's requirements for memory registration. */
  readonly mrMode: Flags<MrMode>;
  /** Bytes of a memory key. */
  readonly mrKeySize: number;
  /** Bytes of remote CQ data. 0 if the provider does not support it. */
  readonly cqDataSize: number;
  readonly cqCnt: number;
  readonly epCnt: number;
  readonly txCtxCnt: number;
  readonly rxCtxCnt: number;
  readonly maxEpTxCtx: number;
  readonly maxEpRxCtx: number;
  readonly maxEpStxCtx: number;
  readonly maxEpSrxCtx: number;
  readonly cntrCnt: number;
  /** Buffers in one registration. */
  readonly mrIovLimit: number;
  readonly caps: Flags<Cap>;
  readonly mode: Flags<Mode>;
  readonly authKey: Uint8Array | null;
  /** Bytes of error data in one completion. */
  readonly maxErrData: number;
  readonly mrCnt: number;
  readonly tclass: TrafficClass;
  /** Since libfabric 1.20. */
  readonly maxEpAuthKey?: number;
  /** Since libfabric 2.0. */
  readonly maxGroupId?: number;
  /** Since libfabric 2.5. */
  readonly maxCntrValue?: bigint;
  /** Since libfabric 2.5. */
  readonly maxErrCntrValue?: bigint;
}

/** Fabric attributes: fi_fabric(3). */
export interface FabricAttr {
  readonly name: string | null;
  /** `'shm'`, `'efa'`, `'tcp;ofi_rxm'`. */
  readonly provName: string | null;
  readonly provVersion: string;
  readonly apiVersion: string;
}

/** A network card: fi_nic(3). */
export interface Nic {
  readonly deviceAttr: DeviceAttr | null;
  readonly busAttr: BusAttr | null;
  readonly linkAttr: LinkAttr | null;
}

/** The device of a network card: fi_nic(3). */
export interface DeviceAttr {
  readonly name: string | null;
  readonly deviceId: string | null;
  readonly deviceVersion: string | null;
  readonly vendorId: string | null;
  readonly driver: string | null;
  readonly firmware: string | null;
}

/** The bus of a network card: fi_nic(3). */
export interface BusAttr {
  readonly busType: BusType;
  /** The card's PCI address, with busType FI_BUS_PCI. */
  readonly pci: PciAttr | null;
}

/** An address on a PCI bus: fi_nic(3). */
export interface PciAttr {
  readonly domainId: number;
  readonly busId: number;
  readonly deviceId: number;
  readonly functionId: number;
}

/** The link of a network card: fi_nic(3). */
export interface LinkAttr {
  readonly address: string | null;
  /** Bytes. */
  readonly mtu: number;
  /** Bits a second. */
  readonly speed: number;
  readonly state: LinkState;
  readonly networkType: string | null;
}

/** An environment variable of libfabric or of one of its providers. */
export interface Param {
  /** `'FI_EFA_TX_SIZE'`. */
  readonly name: string;
  readonly type: ParamType;
  /** libfabric's own description. */
  readonly helpString: string;
  /** Its value in this process. Null if it is not set; the provider's default applies then. */
  readonly value: string | null;
}
