import { checkMilliseconds, checkOptions, namesOf, oneOf } from '../../base/checks.js';
import { invalidArgType } from '../../base/errors.js';
import { isInstance } from '../../base/objects.js';
import { PRIORITIES, type Priority } from '../admission.js';
import { MemoryPool } from '../memory-pool.js';
import type { RemoteEngine } from '../remote-engine.js';
import { limitsOf } from '../transfer-options.js';

const TIMEOUT = 30_000; // ms
const EXPIRES = 60_000; // ms

/** Options of `remote.writable()`, `remote.upload()` and `remote.download()`. */
export interface StreamOptions {
  /** The memory through which the bytes go. If omitted, a pool of the engine: 16 buffers of 4 MiB. */
  readonly pool?: MemoryPool;
  /** Destroys the stream, with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Milliseconds that the stream waits for its peer before it fails with FI_ETIMEDOUT. If omitted, 30,000. */
  readonly timeout?: number;
  /** The priority of the stream's transfers: see {@link TransferOptions}. */
  readonly priority?: 'high' | 'normal' | 'low';
}

interface OwnStreamOptions extends Omit<StreamOptions, 'priority'> {
  /** Milliseconds until the token expires, if the peer has not used it. If omitted, 60,000. */
  readonly expires?: number;
}

/** Options of `engine.incoming()`. */
export interface IncomingOptions extends OwnStreamOptions {
  /** The only peer that may use the token. */
  readonly from: RemoteEngine;
}

/** Options of `engine.outgoing()`. */
export interface OutgoingOptions extends OwnStreamOptions {
  /** The only peer that may use the token. */
  readonly to: RemoteEngine;
}

const COMMON = { pool: 1, signal: 1, timeout: 1 } as const;
const USE = namesOf<StreamOptions>({ ...COMMON, priority: 1 });
const INCOMING = namesOf<IncomingOptions>({ ...COMMON, expires: 1, from: 1 });
const OUTGOING = namesOf<OutgoingOptions>({ ...COMMON, expires: 1, to: 1 });

function checkPool(pool: MemoryPool | undefined): MemoryPool | undefined {
  if (pool === undefined || isInstance(pool, MemoryPool)) return pool;
  throw invalidArgType('options.pool', 'a pool: engine.pool()', pool);
}

export function checkStreamOptions(options: StreamOptions) {
  const { pool, signal, timeout, priority } = checkOptions('options', options, USE);
  return {
    pool: checkPool(pool),
    ...limitsOf(signal, timeout, TIMEOUT),
    priority: (priority === undefined
      ? 'normal'
      : oneOf('options.priority', priority, PRIORITIES)) as Priority,
  };
}

function checkOwn({ pool, signal, timeout, expires }: OwnStreamOptions) {
  return {
    pool: checkPool(pool),
    ...limitsOf(signal, timeout, TIMEOUT),
    expires: expires === undefined ? EXPIRES : checkMilliseconds('options.expires', expires),
  };
}

export function checkIncoming(options: IncomingOptions) {
  const { from, ...own } = checkOptions('options', options, INCOMING);
  return { peer: from, ...checkOwn(own) };
}

export function checkOutgoing(options: OutgoingOptions) {
  const { to, ...own } = checkOptions('options', options, OUTGOING);
  return { peer: to, ...checkOwn(own) };
}
