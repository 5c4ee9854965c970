import type { AddrFormat, EpType, Progress, Threading } from '../../../flags.js';
import type { SizeChoice } from './sizes.js';

/** What the transfers of a test are: `-o`. */
export type Operation = 'read' | 'write' | 'writedata' | 'senddata' | 'msg' | 'tagged';

/** How a test was asked to run: the options of the command line, checked. */
export interface Settings {
  /** The command and its arguments, for the record. */
  readonly command: string;
  readonly argv: readonly string[];

  // Whom to talk to.
  /** The other side, where this is the client. */
  readonly host?: string;
  readonly provider?: string;
  readonly fabric?: string;
  readonly domain?: string;
  readonly type?: EpType;
  /** Several NICs at once: between sides of this package. */
  readonly nics?: 'all' | readonly string[];
  readonly addrFormat?: AddrFormat;
  readonly sourceAddress?: string;
  readonly sourcePort?: string;
  readonly destinationPort?: string;
  /** Clients that the server takes one after another. */
  readonly connections: number;

  // The TCP connection beside the fabric.
  /** `-b` and `-E`: addresses are exchanged over it. */
  readonly oobExchange: boolean;
  /** `-b`: the sides also wait for one another over it. */
  readonly oobSync: boolean;
  readonly oobPort: number;
  readonly oobAddress?: string;
  /** Release of the fabtests that the other side is; undefined: find out, or as the library. */
  readonly release?: string;

  // What to measure.
  readonly sizes: SizeChoice;
  readonly iterations?: number;
  readonly warmUp: number;
  /** Operations in flight at once. */
  readonly window: number;
  readonly operation?: Operation;
  readonly verify: boolean;
  /** Ping-pongs look at the last message of a size only, so that it costs nothing that is timed. */
  readonly verifiesLast?: true;
  /** Bytes up to which a transfer is injected. */
  readonly injectSize?: number;
  /** Whether receives are posted before the messages they take come: not with `-r`. */
  readonly prePosted: boolean;
  readonly prefix: boolean;
  readonly deliveryComplete: boolean;
  readonly counters: boolean;
  readonly threading?: Threading;
  readonly dataProgress?: Progress;
  readonly controlProgress?: Progress;
  readonly maxMsgSize?: number;
  /** FI_MORE on all but the last of a window, also where batches do not set it by themselves. */
  readonly fiMore: boolean;
  readonly rxCqData: boolean;

  // How to tell.
  readonly output: 'table' | 'yaml' | 'json';
  /** Percentiles, spread and load below the table. */
  readonly statistics: boolean;
  readonly label?: string;
  /** Seconds without progress after which the other side counts as gone; Infinity: never. */
  readonly timeout: number;
  readonly pinCore?: string;
}
