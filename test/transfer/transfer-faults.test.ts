import '../support/four-nics.js';
import { createHash } from 'node:crypto';
import { type FaultOptions, SoftefaFaults } from 'libfabric/softefa';
import { TransferEngine } from 'libfabric/transfer';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { Receiver } from '../support/receiver.js';
import { namespace } from '../support/softefa.js';

const SIZE = 128 << 20;
const bytes = pattern(SIZE);
const hash = createHash('sha1').update(bytes).digest('hex');

let faults: SoftefaFaults;
beforeEach(() => {
  faults = new SoftefaFaults({ namespace });
});
afterEach(() => faults.close());

/** Two processes on two hosts with four NICs each. A small transfer has opened all paths. */
async function sides() {
  const engine = await TransferEngine.open({ provider: 'efa' });
  onTestFinished(() => engine.close());
  expect(engine.rails.length).toBe(4);
  const receiver = new Receiver('efa', 4, 1);
  const remote = await receiver.meet(engine);
  const memory = await engine.register(bytes);
  const first = await receiver.offer(16 << 20);
  await remote.write(memory.slice(0, 16 << 20), first.token);
  await first.released;
  return { engine, receiver, remote, memory };
}

const FAULTS = [
  ['portDown', {}],
  ['freeze', {}],
  ['delay', { value: 20 }],
  ['status', { value: 8, count: 50 }],
  ['rnr', { count: 50 }],
] as const satisfies [string, FaultOptions][];

describe.each([
  ["the sender's", 0],
  ["the receiver's", 1],
])('efa, %s second NIC fails in the middle of a transfer', (_, node) => {
  const isQuick = ([kind]: (typeof FAULTS)[number]) =>
    FAULTS.findIndex(([each]) => each === kind) % 2 === node;
  test.for(casesOf(FAULTS, isQuick))(
    '%s: the other NICs carry the rest, once',
    async ([kind, options]) => {
      const { engine, remote, receiver, memory } = await sides();
      const offer = await receiver.offer(SIZE);
      const transfer = remote.write(memory, offer.token);
      for await (const { done } of transfer.progress()) if (done > SIZE / 8) break;
      const fault = faults.add(kind, { node, nic: 1, ...options });
      await transfer.arrived;
      expect(await offer.outcome).toBe(hash);
      fault.remove();
      // Without RDMA writes, the peer's efa sends requests back. If one of them fails, neither side ever completes
      // the write (1.17), and its memory stays in use.
      const completes = engine.rails[1]?.path === 'rdma' || kind !== 'status' || node !== 0;
      if (completes) {
        const report = await transfer;
        expect(report.byteLength).toBe(SIZE);
        await offer.released;
      } else {
        transfer.catch(() => {});
      }
      const another = await receiver.offer(16 << 20);
      await remote.write(memory.slice(0, 16 << 20), another.token);
      await another.released;
    },
  );
});

test('efa: a rail goes back to its own rail of the peer when that works again', async () => {
  const open = async (...nics: string[]) => {
    const engine = await TransferEngine.open({ provider: 'efa', nics });
    onTestFinished(() => engine.close());
    return engine;
  };
  const a = await open('softefa_0-rdm', 'softefa_1-rdm');
  const b = await open('softefa_2-rdm', 'softefa_3-rdm');
  const [toB, toA] = [await a.peer(b.address), await b.peer(a.address)];
  const from = await a.register(bytes.subarray(0, 8 << 20));
  const into = await b.register(new Uint8Array(8 << 20));
  const arrivals = () => b.rails[0]?.arrivals ?? 0;
  const move = async () => {
    const offer = await into.offer({ access: 'write', to: toA });
    await toB.write(from, offer.token).arrived;
    await offer.arrived;
    offer.close().catch(() => {});
  };
  await move();
  const fault = faults.add('freeze', { node: 0, nic: 2 });
  const before = arrivals();
  await move();
  await move();
  fault.remove();
  await move();
  await expect
    .poll(() => move().then(arrivals), { interval: 10, timeout: 20_000 })
    .toBeGreaterThan(before + 64);
});
