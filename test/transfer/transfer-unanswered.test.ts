// Peers that die before their first answer to this engine.
import '../support/softefa.js';
import { once } from 'node:events';
import { type RemoteEngine, TransferEngine, TransferError } from 'libfabric/transfer';
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { Receiver } from '../support/receiver.js';

const SIZE = 4 << 20;
const TIMEOUT = 1500;
const SOON = 8000; // ms
const timeout = 90_000;

describe.each([
  ['tcp', undefined],
  ['efa', 'efa'],
  ['efa', 'efa-direct'],
] as const)('%s, fabric %s', (provider, fabric) => {
  const settings = { mapMemory: false, ...(fabric && { fabric }) };

  async function open(context: TestContext): Promise<TransferEngine> {
    const opening = TransferEngine.open({ provider, nics: 1, ...settings });
    const engine = await opening.catch((error) => {
      if (fabric !== 'efa-direct') throw error;
      return context.skip('no libfabric 2, or no NIC with RDMA writes');
    });
    onTestFinished(() => engine.close());
    return engine;
  }

  const receiver = (node: number) => new Receiver(provider, 1, node, settings);

  /** A peer that offers memory and is killed before anything was sent to it. */
  async function killed(engine: TransferEngine, node: number, access: 'write' | 'read') {
    const victim = receiver(node);
    const peer = await victim.meet(engine);
    const { token } = await victim.offer(SIZE, undefined, access);
    victim.child.kill('SIGKILL');
    await once(victim.child, 'exit');
    return { peer, token };
  }

  const soon = (promise: Promise<void>) =>
    Promise.race([
      promise.then(() => 'in time'),
      new Promise((resolve) => setTimeout(resolve, SOON, 'late').unref()),
    ]);

  const writes = async (to: Receiver, peer: RemoteEngine, engine: TransferEngine) => {
    const memory = await engine.register(pattern(SIZE));
    const { token, outcome } = await to.offer(SIZE);
    const report = await peer.write(memory, token);
    expect(await outcome).toMatch(/^[0-9a-f]{40}$/);
    await memory.close();
    return report;
  };

  test.for(casesOf(['write', 'read'] as const, (access) => access === 'write'))(
    'a %s ends, and its memory and the peer are free, while another peer is served',
    { timeout },
    async (access, context) => {
      const engine = await open(context);
      const other = receiver(2);
      const living = await other.meet(engine);
      const { peer, token } = await killed(engine, 1, access);
      const memory = await engine.allocate(SIZE);
      const limits = { timeout: TIMEOUT };
      const transfer =
        access === 'write' ? peer.write(memory, token, limits) : peer.read(token, memory, limits);
      const settled = transfer.catch((reason) => reason);
      expect((await writes(other, living, engine)).byteLength).toBe(SIZE);
      expect(await settled).toBeInstanceOf(TransferError);
      expect(await soon(transfer.released)).toBe('in time');
      expect(await soon(peer.close())).toBe('in time');
      expect(await soon(memory.close())).toBe('in time');
      expect((await writes(other, living, engine)).byteLength).toBe(SIZE);
      await living.notify(pattern(8));
      expect(engine.rails.map(({ state }) => state)).toEqual(['up']);
    },
  );

  test('messages to such a peer take no room of those to others', { timeout }, async (context) => {
    const engine = await open(context);
    const other = receiver(2);
    const living = await other.meet(engine);
    const { peer } = await killed(engine, 1, 'write');
    const lost = Promise.allSettled(Array.from({ length: 200 }, () => peer.notify(pattern(8))));
    await Promise.all(Array.from({ length: 200 }, () => living.notify(pattern(8))));
    await Promise.all(Array.from({ length: 200 }, () => living.notify(pattern(8))));
    expect(await soon(engine.close())).toBe('in time');
    for (const { status } of await lost) expect(status).toBe('rejected');
  });
});
