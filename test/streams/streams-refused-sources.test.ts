// A call that takes a source ends it if it refuses it, as pipeline() of node:stream does, and leaves no listener at its signal.
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { enginePair } from '../support/engines.js';

const REASON = new Error('enough');

/** Sources, and whether they have ended. */
const SOURCES = {
  'a stream of Node.js': () => {
    const source = Readable.from([Buffer.of(1)]);
    return { source, hasEnded: () => source.destroyed };
  },
  'an iterator': () => {
    let ends = 0;
    const iterator = {
      next: async () => ({ value: Buffer.of(1), done: false }),
      return: async () => ({ value: undefined, done: ++ends > 0 }),
    };
    return { source: { [Symbol.asyncIterator]: () => iterator }, hasEnded: () => ends === 1 };
  },
  'a stream of the web': () => {
    let ends = 0;
    const source = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(Buffer.of(1)),
      cancel: () => void ends++,
    });
    return { source, hasEnded: () => ends === 1 };
  },
};

async function sides() {
  const { a, b, toA, toB } = await enginePair({ provider: 'shm', nics: 1 });
  const token = () => {
    const incoming = b.incoming({ from: toA });
    incoming.on('error', () => {});
    return incoming.token;
  };
  const destroyed = () => {
    const outgoing = b.outgoing({ to: toA });
    outgoing.on('error', () => {});
    return outgoing.destroy(REASON);
  };
  return { a, toB, token, destroyed };
}

type Side = Awaited<ReturnType<typeof sides>>;
type Source = Readable;

const REFUSALS: Record<string, (side: Side, source: Source) => Promise<unknown>> = {
  'an aborted signal': ({ toB, token }, source) =>
    toB.upload(source, token(), { signal: AbortSignal.abort(REASON) }),
  'a signal that aborts at once': ({ toB, token }, source) => {
    const controller = new AbortController();
    const end = toB.upload(source, token(), { signal: controller.signal });
    controller.abort(REASON);
    return end;
  },
  'a malformed token': ({ toB }, source) => toB.upload(source, 'no token'),
  'a used token': async ({ toB, token }, source) => {
    const used = token();
    await toB.upload([Buffer.alloc(0)], used).catch(() => {});
    return toB.upload(source, used);
  },
  'a closed engine': async ({ a, toB, token }, source) => {
    const valid = token();
    await a.close();
    return toB.upload(source, valid);
  },
  'a destroyed stream': ({ destroyed }, source) => destroyed().sendFrom(source),
};

test.for(Object.keys(REFUSALS))('%s: the source is ended once', async (refusal) => {
  const side = await sides();
  for (const [kind, make] of Object.entries(SOURCES)) {
    if (refusal === 'a closed engine' && side.a.closed) Object.assign(side, await sides());
    const { source, hasEnded } = make();
    const refused = REFUSALS[refusal]?.(side, source as Source);
    await expect(refused, kind).rejects.toBeInstanceOf(Error);
    await turn();
    expect(hasEnded(), kind).toBe(true);
  }
});
