import type { TransferEngine } from '../../transfer/transfer-engine.js';
import type { PeerLink } from '../fabtests/common/peer-link.js';
import type { BenchmarkRow } from '../shared/result.js';
import type { Rails } from './engine.js';
import type { Plan } from './plan.js';

/** Receives the figures of a side. */
export interface RunListener {
  /** The engine is open. */
  begin(engine: TransferEngine, plan: Plan): void;
  /** The figures of a size. */
  row(row: BenchmarkRow): void;
}

/** The parts that both sides of a run have. */
export interface Run {
  readonly rails: Rails & { readonly address: string | undefined };
  readonly link: PeerLink;
  /** Seconds without progress after which the peer counts as gone. */
  readonly seconds: number;
  readonly listener: RunListener;
}
