// The messages between the two sides over TCP.
import * as v from '../../vendor/valibot.js';
import { PeerGone } from '../fabtests/common/oob.js';
import type { PeerLink } from '../fabtests/common/peer-link.js';
import { row } from '../report/schema.js';
import type { BenchmarkRow } from '../shared/result.js';
import { type Plan, problemOf } from './plan.js';

/** Both sides need the same one. */
export const PROTOCOL = 'libfabric transfer 1';

// The text goes to a terminal.
const plain = (text: string) => text.replace(/\p{Cc}/gu, ' ').slice(0, 100);

const between = (from: number, to: number) =>
  v.pipe(
    v.number(),
    v.integer(),
    v.check((value) => value >= from && value <= to, `Not from ${from} to ${to}`),
  );
const size = between(1, 2 ** 40);
const times = between(0, 2 ** 31 - 1);

const plan: v.GenericSchema<unknown, Plan> = v.pipe(
  v.object({
    operation: v.picklist(['write', 'read']),
    sizes: v.pipe(
      v.array(size),
      v.check(({ length }) => length > 0 && length <= 100, 'Not 1 to 100 sizes'),
    ),
    pages: v.exactOptional(size),
    iterations: v.exactOptional(between(1, 2 ** 31 - 1)),
    warmUp: times,
    verify: v.boolean(),
    slice: v.exactOptional(between(4096, 2 ** 30)),
    window: v.exactOptional(between(4096, 2 ** 32)),
    stall: v.exactOptional(times),
    threads: v.exactOptional(between(1, 64)),
    map: v.exactOptional(v.boolean()),
  }),
  v.check((value) => problemOf(value) === undefined, 'Pages do not fit the sizes'),
);

const figures: v.GenericSchema<unknown, BenchmarkRow> = row;

const hello = {
  kind: v.literal('hello'),
  protocol: v.literal(PROTOCOL),
  provider: v.string(),
  address: v.string(),
};

/** The messages of the client. */
export const fromClient = v.variant('kind', [
  v.object({ ...hello, plan }),
  /** Offer memory for a transfer, whose bytes follow from the seed. */
  v.object({ kind: v.literal('offer'), size, seed: times }),
  /** The measured transfers of a size begin. */
  v.object({ kind: v.literal('begin') }),
  /** The transfer of the oldest offer is over. */
  v.object({ kind: v.literal('transferred') }),
  /** The measured transfers of a size are over. */
  v.object({ kind: v.literal('measured') }),
  /** The figures of a size. */
  v.object({ kind: v.literal('row'), row: figures }),
  v.object({ kind: v.literal('end') }),
]);

/** The messages of the server. */
export const fromServer = v.variant('kind', [
  v.object(hello),
  v.object({ kind: v.literal('token'), token: v.string() }),
  /** Every byte has arrived. */
  v.object({ kind: v.literal('arrived') }),
  /** Cores that the server kept busy since the measured transfers began. */
  v.object({ kind: v.literal('cpu'), cores: v.number() }),
]);

export type FromClient = v.InferOutput<typeof fromClient>;
export type FromServer = v.InferOutput<typeof fromServer>;

/** The sides do not speak the same protocol. */
export class Disagreement extends Error {
  override readonly name = 'Disagreement';
}

/** Throws Disagreement if the sides have chosen different providers. */
export function checkProvider(own: string, theirs: string): void {
  if (own === theirs) return;
  throw new Disagreement(`both sides need the same -p: here ${own}, there ${plain(theirs)}`);
}

/** Reads a message of the peer. */
export function read<T>(schema: v.GenericSchema<unknown, T>, message: unknown): T {
  const { protocol } = (message ?? {}) as { protocol?: unknown };
  if (protocol !== undefined && protocol !== PROTOCOL) {
    throw new Disagreement(`the peer is not ${PROTOCOL}; both sides need the same release`);
  }
  const checked = v.safeParse(schema, message);
  if (checked.success) return checked.output;
  throw new Disagreement(`the peer is not ${PROTOCOL}: ${checked.issues[0].message}`);
}

/** Waits for a promise while the peer is connected. Throws PeerGone if it ends. */
export function whileConnected<T>(link: PeerLink, promise: Promise<T>): Promise<T> {
  const gone = link.closed.then((): never => {
    throw new PeerGone(`the peer has ended: ${link.ended}`);
  });
  return Promise.race([promise, gone]);
}
