import type { NicChoice } from '../common/nics.js';
import type { Plan } from './protocol.js';

/** The operation of a measurement's transfers. */
export type Transfer = 'write' | 'read' | 'send';

/** How all ranks measure. */
export interface Settings {
  /** The command and its arguments, as the result reports them. */
  readonly command: 'all-to-all' | 'pairwise';
  readonly argv: readonly string[];
  readonly label?: string;
  readonly nics: NicChoice;
  readonly metric: 'bandwidth' | 'latency';
  readonly transfer: Transfer;
  /** Bytes of a transfer. */
  readonly size: number;
  /** Transfers in flight, to each rank over each NIC. */
  readonly window: number;
  /** Transfers to each rank over each NIC; if undefined, `seconds` applies. */
  readonly iterations?: number;
  readonly seconds: number;
  readonly verify: boolean;
  /** Whether pairs without a common rank are measured at the same time. */
  readonly concurrent: boolean;
  /** Seconds to wait for ranks, and for any progress. */
  readonly timeout: number;
}

/** The options that must be the same at all ranks. */
export function planOf(settings: Settings): Plan {
  const { command, metric, transfer, size, window, iterations, seconds, verify } = settings;
  const { concurrent, nics } = settings;
  return {
    command,
    metric,
    operation: transfer,
    size,
    window,
    iterations: iterations ?? 0,
    seconds,
    verify,
    concurrent,
    nics: nics.nics === undefined ? 1 : nics.nics === 'all' ? 'all' : nics.nics.length,
  };
}
