// The table of codes of docs/transfer.md: who ends what is open with a peer, and what is open.
import '../support/softefa.js';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type RemoteEngine, TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { otherSide } from '../programs/transfer-other-side.mjs';
import { casesOf, quick, slow } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { until } from '../support/lifecycle.js';
import { MemoryDirectory } from '../support/memory-directory.js';
import { removeLeftovers } from '../support/receiver.js';
import { withSoftefa } from '../support/softefa.js';

const codeOf = async (promise: PromiseLike<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    ({ code }: { code: string }) => code,
  );

const endless = async function* () {
  for (;;) yield new Uint8Array(2 ** 16);
};

type Tokens = ReturnType<typeof otherSide>['tokens'];

/** Opens all that may be open with a peer whose program reads nothing. Returns the codes of the ends. */
async function openAll(
  engine: TransferEngine,
  peer: RemoteEngine,
  theirs: Tokens,
  use: (tokens: Tokens) => Promise<unknown>,
) {
  const memory = await engine.allocate(4096);
  const offers = await Promise.all([
    memory.offer({ access: 'write', to: peer }),
    memory.offer({ access: 'read', to: peer }),
    memory.offer({ access: 'write', to: peer, repeat: true }),
  ]);
  const [incoming, outgoing] = [engine.incoming({ from: peer }), engine.outgoing({ to: peer })];
  const unused = engine.incoming({ from: peer });
  const open = {
    'offer to write': codeOf(offers[0].arrived),
    'offer to read': codeOf(offers[1].arrived),
    'repeated offer': codeOf(offers[2][Symbol.asyncIterator]().next()),
    incoming: codeOf(incoming.toArray()),
    outgoing: codeOf(outgoing.sendFrom(endless())),
    upload: codeOf(peer.upload(endless(), theirs.incoming)),
    download: codeOf(peer.download(theirs.outgoing).toArray()),
    'unused stream': codeOf(unused.toArray()),
    barrier: codeOf(engine.group([peer]).barrier()),
  };
  await use({ incoming: incoming.token, outgoing: outgoing.token });
  return { open, offers, unused };
}

const codesOf = async (open: Record<string, Promise<string>>) =>
  Object.fromEntries(
    await Promise.all(Object.entries(open).map(async ([name, code]) => [name, await code])),
  );

const STREAMS = ['incoming', 'outgoing', 'upload', 'download'];

/** @param codes those of the offers and the barrier, of the streams in use, and of the one whose token was not used. */
const table = (
  open: Record<string, unknown>,
  [others, streams = others, unused = others]: string[],
) =>
  Object.fromEntries(
    Object.keys(open).map((name) => {
      if (name === 'unused stream') return [name, unused];
      return [name, STREAMS.includes(name) ? streams : others];
    }),
  );

/** Two engines of this process with everything open, which have met in a directory. */
async function opened(provider: string) {
  const directory = new MemoryDirectory();
  const newEngine = async () => {
    const engine = await TransferEngine.open({ provider, nics: 1, mapMemory: false });
    onTestFinished(() => engine.close());
    return engine;
  };
  const [a, b] = [await newEngine(), await newEngine()];
  const membership = await a.join(directory, 'group');
  const { peers } = await b.join(directory, 'group');
  await until(() => membership.peers.size === 1 && peers.size === 1);
  const [peer, back] = [membership.peers.get(b.id), peers.get(a.id)] as RemoteEngine[] as [
    RemoteEngine,
    RemoteEngine,
  ];
  const { tokens, use } = otherSide(b, back);
  return { a, b, membership, directory, peer, back, ...(await openAll(a, peer, tokens, use)) };
}

type Opened = Awaited<ReturnType<typeof opened>>;

const ends: [string, (sides: Opened) => unknown, string[]][] = [
  ['close() of this engine', ({ a }) => a.close(), ['FI_ECANCELED']],
  [
    'remote.close() of this side',
    ({ peer }) => peer.close(),
    ['FI_ECANCELED', 'ERR_CLOSED', 'expires'],
  ],
  [
    'leave() of this side',
    ({ membership }) => membership.leave(),
    ['FI_ECANCELED', 'ERR_CLOSED', 'expires'],
  ],
  ['close() of the engine of the peer', ({ b }) => b.close(), ['FI_ECONNRESET']],
  [
    'the end of the entry of the peer',
    ({ b, directory }) => directory.delete(b.id),
    ['FI_ECONNRESET'],
  ],
];

const providers = casesOf(['tcp', 'shm', 'efa'], (provider) => provider !== 'efa');

describe.each(providers)('%s', (provider) => {
  test.each(ends)('%s', async (_name, end, codes) => {
    const sides = await opened(provider);
    await end(sides);
    const { unused, open } = sides;
    if (codes.includes('expires')) {
      expect(unused.destroyed).toBe(false);
      unused.destroy(Object.assign(new Error(), { code: 'expires' }));
    }
    expect(await codesOf(open)).toEqual(table(open, codes));
    await Promise.all(sides.offers.map(({ released }) => released));
  });

  test.runIf(provider === 'tcp' ? quick : slow)(
    'the death of the process of the peer',
    async () => {
      const program = fileURLToPath(
        new URL('../programs/transfer-other-side.mjs', import.meta.url),
      );
      const settings = { mapMemory: false, liveness: 1000 };
      const env = provider === 'efa' ? withSoftefa({ nics: 1, node: 1 }) : process.env;
      const child = fork(program, [provider, JSON.stringify(settings)], { env });
      onTestFinished(() => {
        child.kill('SIGKILL');
        removeLeftovers(child);
      });
      await once(child, 'message');
      const engine = await TransferEngine.open({ provider, nics: 1, ...settings });
      onTestFinished(() => engine.close());
      child.send({ address: engine.address });
      const [{ address, tokens }] = await once(child, 'message');
      const { open } = await openAll(engine, await engine.peer(address), tokens, async (used) => {
        child.send({ used });
        await once(child, 'message');
      });
      child.kill('SIGKILL');
      expect(await codesOf(open)).toEqual(table(open, ['FI_ECONNRESET']));
    },
  );

  test('what is begun with a peer whose engine was closed', async () => {
    const { a, b, toB } = await enginePair({ provider, nics: 1, mapMemory: false });
    const memory = await a.allocate(4096);
    await toB.notify(new Uint8Array(1));
    await b.close();
    await until(() => toB.state === 'lost');
    const offers = await Promise.all(
      (['write', 'read'] as const).map((access) => memory.offer({ access, to: toB })),
    );
    const open = [
      ...offers.map(({ arrived }) => arrived),
      a.incoming({ from: toB }).toArray(),
      a.outgoing({ to: toB }).sendFrom(endless()),
      a.group([toB]).barrier(),
      toB.notify(new Uint8Array(1)),
    ];
    const codes = await Promise.all(open.map(codeOf));
    expect(codes).toEqual(Array(6).fill('FI_ECONNRESET'));
    await Promise.all(offers.map(({ released }) => released));
  });

  test('a transfer that its own side, the peer or the time ends', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics: 1, mapMemory: false });
    const [from, into] = [await a.allocate(64 << 20), await b.allocate(64 << 20)];
    const reason = Object.assign(new Error('enough'), { code: 'mine' });
    const codes = { abort: 'mine', close: 'FI_EKEYREJECTED', timeout: 'FI_ETIMEDOUT' };
    const theirs = { abort: 'FI_ECONNABORTED', close: 'FI_ECANCELED', timeout: 'FI_ECONNABORTED' };
    for (const end of ['abort', 'close', 'timeout'] as const) {
      for (const access of ['write', 'read'] as const) {
        const offer = await into.offer({ access, to: toA });
        const controller = new AbortController();
        const limits = end === 'timeout' ? { timeout: 1 } : { signal: controller.signal };
        const transfer =
          access === 'write'
            ? toB.write(from, offer.token, limits)
            : toB.read(offer.token, from, limits);
        const code = codeOf(transfer);
        if (end !== 'timeout')
          for await (const { done } of transfer.progress()) if (done > 0) break;
        if (end === 'abort') controller.abort(reason);
        if (end === 'close') await offer.close();
        // A fast machine may have transferred all bytes before.
        expect(['ok', codes[end]]).toContain(await code);
        expect(['ok', theirs[end]]).toContain(await codeOf(offer.arrived));
        await Promise.all([transfer.released, offer.released]);
      }
    }
  });

  test.runIf(quick)('a transfer that ends while it waits for its turn tells the peer', async () => {
    const options = { provider, nics: 1, mapMemory: false, maxTransfers: 1 };
    const { a, b, toA, toB } = await enginePair(options);
    const [from, into] = [await a.allocate(64 << 20), await b.allocate(64 << 20)];
    const other = await a.allocate(4096);
    for (const end of ['abort', 'timeout', 'memory'] as const) {
      const [first, second] = await Promise.all(
        [into, into.slice(0, 4096)].map((part) => part.offer({ access: 'write', to: toA })),
      );
      const controller = new AbortController();
      const running = toB.write(from, first?.token as string);
      const limits = end === 'timeout' ? { timeout: 1 } : { signal: controller.signal };
      const waiting = toB.write(other, second?.token as string, limits);
      const code = codeOf(waiting);
      await Promise.resolve();
      if (end === 'abort') controller.abort();
      if (end === 'memory') void other.close();
      if ((await code) === 'ok' && end === 'timeout') continue; // a fast machine
      expect(await code).not.toBe('ok');
      expect(await codeOf(second?.arrived as Promise<unknown>)).toBe('FI_ECONNABORTED');
      await running;
      await first?.arrived;
    }
  });
});
