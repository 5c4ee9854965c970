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
  Progress,
  Protocol,
  ResourceMgmt,
  Threading,
  TrafficClass,
  UnknownBit,
} from './flags.js';

/** A set of flags by name. */
export type Flags<Name extends string> = readonly (Name | UnknownBit)[];

declare const requested: unique symbol;

/**
 * One entry of {@link getInfo}: a provider's offer of an endpoint of type `T` with at least the
 * capabilities `C`. See fi_getinfo(3).
 *
 * Counts and sizes are numbers, `Infinity` where a provider says "no limit" with more than 2^53.
 * Masks, tags and the sizes that providers do set beyond 2^53 are bigints. Versions read
 * `'major.minor'`. Values that were not given are null.
 */
export interface Info<T extends EpType = EpType, C extends Cap = Cap> {
  /** What an endpoint opened with this entry can do. */
  readonly caps: Flags<Cap>;
  /** What the provider asks of its caller. */
  readonly mode: Flags<Mode>;
  readonly addrFormat: AddrFormat;
  /** The local address, in `addrFormat`. */
  readonly srcAddr: Uint8Array | null;
  /** The address of the node that was asked for, in `addrFormat`. */
  readonly destAddr: Uint8Array | null;
  readonly txAttr: TxAttr;
  readonly rxAttr: RxAttr;
  readonly epAttr: EpAttr<T>;
  readonly domainAttr: DomainAttr;
  readonly fabricAttr: FabricAttr;
  /** The network card, where the provider is tied to one: fi_nic(3). */
  readonly nic: Nic | null;
  /** Type only: more capabilities are welcome where fewer are needed. */
  readonly [requested]?: (caps: C) => void;
}

/** An entry of whatever type and capabilities. */
export type AnyInfo = Info<EpType, never>;

/** Transmit context attributes: fi_endpoint(3). */
export interface TxAttr {
  readonly caps: Flags<Cap>;
  readonly mode: Flags<Mode>;
  /** Flags that every transmit operation has by default. */
  readonly opFlags: Flags<OpFlag>;
  readonly msgOrder: Flags<MsgOrder>;
  readonly compOrder: Flags<CompOrder>;
  /** Bytes that the inject calls take at most. */
  readonly injectSize: number;
  /** Operations that may be outstanding. */
  readonly size: number;
  /** Local buffers in one operation. */
  readonly iovLimit: number;
  /** Remote buffers in one RMA operation. */
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
  /** Bytes of unexpected messages that are kept. */
  readonly totalBufferedRecv: number;
  /** Receives that may be outstanding. */
  readonly size: number;
  /** Local buffers in one receive. */
  readonly iovLimit: number;
}

/** A count of contexts, or that one is shared among endpoints. */
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
  /** The bits of a tag that may be used, and how they group. */
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
  /** What registering memory takes with this provider. */
  readonly mrMode: Flags<MrMode>;
  /** Bytes of a memory key. */
  readonly mrKeySize: number;
  /** Bytes of remote CQ data; 0 where there is none. */
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
  /** Where the card sits, with busType FI_BUS_PCI. */
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
