import type { AddrFormat, EpType, Progress, Threading } from '../../../base/flags.js';
import type { DeviceAccess } from '../../../engine/memory.js';
import type { SizeChoice } from './sizes.js';

/** The server's port in band: -B and -P. */
export const DEFAULT_PORT = '9228';

/** The operation of a test's transfers: `-o`. */
export type Operation = 'read' | 'write' | 'writedata' | 'senddata' | 'msg' | 'tagged';

/** The devices of `-D`. */
export const DEVICE_TYPES = ['cuda', 'neuron'] as const;
export type DeviceType = (typeof DEVICE_TYPES)[number];

/** `-D` and `-i`: memory of a device. */
export interface DeviceMemorySettings {
  readonly type: DeviceType;
  /** The index of the device. */
  readonly device: number;
  /** The name of the device. Known when the test runs. */
  readonly name?: string;
  /** How the provider reaches it. If undefined, as the provider offers. */
  readonly access?: DeviceAccess;
}

/** The checked options of a test's command line. */
export interface Settings {
  /** The command and its arguments, as the result reports them. */
  readonly command: string;
  readonly argv: readonly string[];
  /** The arguments of this server's client: writtenArguments(). */
  readonly clientArgv: readonly string[];

  // The peer and the provider.
  /** The server, if this side is the client. */
  readonly host?: string;
  /** The server's IP address, if its endpoint has one: resolveHost(). */
  readonly hostAddress?: string;
  readonly provider?: string;
  readonly fabric?: string;
  readonly domain?: string;
  readonly type?: EpType;
  /** Several NICs at once. Both sides must run this package. */
  readonly nics?: 'all' | readonly string[];
  readonly addrFormat?: AddrFormat;
  readonly sourceAddress?: string;
  readonly sourcePort?: string;
  readonly destinationPort?: string;
  /** The number of clients that the server serves one after another. */
  readonly connections: number;

  // The out-of-band TCP connection.
  /** `-b` and `-E`: exchange addresses over it. */
  readonly oobExchange: boolean;
  /** `-b`: also synchronize over it. */
  readonly oobSync: boolean;
  readonly oobPort: number;
  readonly oobAddress?: string;
  /**
   * The peer's release of fabtests. If undefined, it is detected, or taken from the loaded library.
   */
  readonly release?: string;

  // What to measure.
  readonly sizes: SizeChoice;
  readonly iterations?: number;
  readonly warmUp: number;
  /** Operations in flight at once. */
  readonly window: number;
  readonly operation?: Operation;
  readonly verify: boolean;
  /** The largest transfer that is injected, in bytes. */
  readonly injectSize?: number;
  /** The memory of the transfers. If undefined, it is of the host. */
  readonly deviceMemory?: DeviceMemorySettings;
  /** `-H`: the entry must have FI_HMEM. */
  readonly hmem?: true;
  /** Whether receives are posted before their messages arrive; false with `-r`. */
  readonly prePosted: boolean;
  readonly prefix: boolean;
  readonly deliveryComplete: boolean;
  readonly counters: boolean;
  readonly threading?: Threading;
  readonly dataProgress?: Progress;
  readonly controlProgress?: Progress;
  readonly maxMsgSize?: number;
  /** Sets FI_MORE on all but the last operation of a window, even if batches would not set it. */
  readonly fiMore: boolean;
  readonly rxCqData: boolean;

  // The output.
  readonly output: 'table' | 'yaml' | 'json';
  /** Percentiles, spread and load below the table. */
  readonly statistics: boolean;
  readonly label?: string;
  /** Seconds without progress after which the peer counts as gone. Infinity means never. */
  readonly timeout: number;
  readonly pinCore?: string;
}
