import type { TransferEngine } from '../../transfer/transfer-engine.js';
import type { PeerLink } from '../fabtests/common/peer-link.js';
import type { BenchmarkRow } from '../shared/result.js';
import type { Rails } from './engine.js';
import type { Plan } from './plan.js';

/** Where the figures of a side go. */
export interface Audience {
  /** The engine is open. */
  begin(engine: TransferEngine, plan: Plan): void;
  /** The figures of a size. */
  row(row: BenchmarkRow): void;
}

/** What both sides of a run have. */
export interface Run {
  readonly rails: Rails & { readonly address: string | undefined };
  readonly link: PeerLink;
  /** Without progress for so long, the peer counts as gone. */
  readonly seconds: number;
  readonly audience: Audience;
}
