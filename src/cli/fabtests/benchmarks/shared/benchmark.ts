import type { Option } from 'commander';
import type { TestKind } from '../../common/choose-settings.js';
import type { Timing } from '../../common/measure.js';
import type { Needs } from '../../common/open-endpoint.js';
import type { Session } from '../../common/session.js';
import type { Settings } from '../../common/settings.js';

/** Measures a size, on both sides at once. Undefined on a side that has no result. */
export type MeasureSize = (size: number, iterations: number) => Promise<Timing | undefined>;

/** One of fabtests' benchmarks. */
export interface Benchmark extends TestKind {
  readonly summary: string;
  readonly description?: string;
  /** 2 for a ping-pong: its latency is half a round trip. */
  readonly transfersPerIteration: (settings: Settings) => 1 | 2;
  /** Whether it has a window; it then runs more iterations. */
  readonly bandwidth: boolean;
  /** A warning against misreading its figures. */
  readonly caveat?: (settings: Settings) => string | undefined;
  /** Additional options. */
  readonly options?: () => readonly Option[];
  readonly needs: (settings: Settings) => Needs;
  /** Prepares the parts that all sizes share, after the address exchange. `room` is the largest size. */
  readonly prepare: (session: Session, room: number) => Promise<MeasureSize>;
}

/**
 * Whether transfers of a window are injected: only if `-j` asks for it, because prepared sends and
 * writes are faster (shm, 64 B: 0.20 instead of 0.54 us a message, 1.82 instead of 2.18 us a
 * write). fabtests inject. The difference is not visible on the wire.
 */
export const injectsInWindows = (session: Session, size: number): boolean =>
  session.settings.injectSize !== undefined && injects(session, size);

/** Whether transfers of this size are injected: below the limit, or up to the limit since 1.19. */
export function injects(session: Session, size: number): boolean {
  if (session.settings.deviceMemory !== undefined) return false; // the CPU would copy
  const { injectSize } = session.info.txAttr;
  const limit = Math.min(session.settings.injectSize ?? injectSize, injectSize);
  return session.dialect.spreads ? size <= limit : size < limit;
}
