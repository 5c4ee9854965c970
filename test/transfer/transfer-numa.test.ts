import '../support/four-nics.js';

process.env.SOFTEFA_NUMA_NODES = '0,0,1,1';

import { existsSync } from 'node:fs';
import { SoftefaFaults } from 'libfabric/softefa';
import type { RemoteEngine, TransferEngineOptions, TransferMemory } from 'libfabric/transfer';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { slow } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { settle } from '../support/settle.js';
import { namespace } from '../support/softefa.js';

const SIZE = 32 << 20;

/** Two engines with two NICs on node 0, where the memory is, and two on node 1. */
async function sides(context: TestContext, options: TransferEngineOptions = {}) {
  const { a, b, toA, toB } = await enginePair({ provider: 'efa', ...options });
  const from = await a.register(pattern(SIZE));
  const into = await b.allocate(SIZE);
  if (from.numaNode === null) context.skip('the system does not tell the NUMA node of memory');
  if (existsSync('/sys/devices/system/node/node1')) context.skip('there are several NUMA nodes');
  const move = (length: number) => moved(toB, from, into, toA, length);
  return { a, from, into, move };
}

async function moved(
  to: RemoteEngine,
  from: TransferMemory,
  into: TransferMemory,
  back: RemoteEngine,
  length: number,
) {
  into.bytes.fill(0);
  const offer = await into.slice(0, length).offer({ access: 'write', to: back });
  const transfer = to.write(from.slice(0, length), offer.token);
  await settle(offer.arrived);
  expect(same(into.bytes.subarray(0, length), from.bytes.subarray(0, length))).toBe(true);
  const { rails } = await transfer;
  return rails.map(({ byteLength }) => byteLength);
}

test('rails and memory have their NUMA node', async (context) => {
  const { a, from, into } = await sides(context);
  expect(a.rails.map(({ numaNode }) => numaNode)).toEqual([0, 0, 1, 1]);
  expect([from.numaNode, into.numaNode]).toEqual([0, 0]);
});

test('NICs on another NUMA node stay idle while the near ones have room', async (context) => {
  const { move } = await sides(context, { window: 2 ** 30, depth: 4096, stall: 60_000 });
  for (let i = 0; i < 20; i++) {
    const [, , ...far] = await move(256 << 10);
    expect(far).toEqual([0, 0]);
  }
});

if (slow)
  test('NICs on another NUMA node help when the near ones are full', async (context) => {
    const { move } = await sides(context, { window: 64 << 10, slice: 64 << 10 });
    let carried = [0, 0, 0, 0];
    for (let i = 0; i < 5; i++) {
      const bytes = await move(SIZE);
      carried = carried.map((sum, rail) => sum + (bytes[rail] as number));
    }
    expect(carried.every((bytes) => bytes > 0)).toBe(true);
  });

test('NICs on another NUMA node carry all if the near ones are down', async (context) => {
  const { move } = await sides(context);
  await move(SIZE); // all paths are open
  const faults = new SoftefaFaults({ namespace });
  onTestFinished(() => faults.close());
  for (const nic of [0, 1]) faults.add('portDown', { node: 0, nic });
  const [first, second, third, fourth] = (await move(SIZE)) as [number, number, number, number];
  expect([first, second]).toEqual([0, 0]);
  expect(third + fourth).toBe(SIZE);
});
