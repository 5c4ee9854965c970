// Counters of a software EFA device: the sum over all processes that use or used it.
import { counters } from 'libfabric/verbs';
import { expect, test } from 'vitest';
import { until } from '../support/lifecycle.js';
import { OtherProcess } from '../support/other-process.js';
import { portCounter } from '../support/process-pair.js';
import { withSoftefa } from '../support/softefa.js';

const efa = (options = {}) =>
  OtherProcess.start({ provider: 'efa', env: withSoftefa({ nics: 2, ...options }) });

const COUNT = 20;
const MESSAGE = new Uint8Array(1000);

/** Sends messages from one process to another. */
async function transfer(from: OtherProcess, to: OtherProcess): Promise<void> {
  await from.ask('connect', to.address);
  await to.ask('connect', from.address);
  for (let i = 0; i < COUNT; i++) {
    const received = to.ask('recv', MESSAGE.length);
    await from.ask('send', MESSAGE);
    await received;
  }
}

test('values and deltas increase when other processes transfer data', async () => {
  const before = counters('softefa_0');
  const watched = counters.watch('softefa_0', { interval: 20 });
  const seen = { tx: 0n, rx: 0n };
  const [a, b] = await Promise.all([efa(), efa()]);
  await transfer(a, b);
  const least = BigInt(COUNT * MESSAGE.length);
  const increase = (name: string) => counters('softefa_0')[name]! - before[name]!;
  // The counters are up to a second old.
  await until(() => increase('rx_bytes') >= least && increase('recv_wrs') >= BigInt(COUNT));

  for await (const { deltas } of watched) {
    seen.tx += deltas.tx_bytes!;
    seen.rx += deltas.rx_bytes!;
    if (seen.tx >= least && seen.rx >= least) break; // each process updates its counters independently
  }
  await Promise.all([a.close(), b.close()]);
});

test('a watch still counts the transfers of processes that have ended', async () => {
  const watched = counters.watch('softefa_0', { interval: 20 });
  const [a, b] = await Promise.all([efa(), efa()]);
  await transfer(a, b);
  let high = 0n;
  for (;;) {
    high = (await watched.next()).value.values.rx_bytes!;
    if (high >= BigInt(COUNT * MESSAGE.length)) break;
  }
  await Promise.all([a.close(), b.close()]);
  const { values, deltas } = (await watched.next()).value;
  expect(values.rx_bytes).toBeGreaterThanOrEqual(high);
  expect(deltas.rx_bytes).toBeGreaterThanOrEqual(0n);
  expect(counters('softefa_0').rx_bytes).toBeGreaterThanOrEqual(high);
  await watched.return();
});

test("another node's device of the same name has its own counters", async () => {
  const before = counters('softefa_0');
  const [a, b] = await Promise.all([efa({ node: 1 }), efa({ node: 2 })]);
  await transfer(a, b);
  const sysfs = await b.ask<string>('sysfs');
  await until(() => portCounter(sysfs, 'recv_wrs') >= COUNT);
  expect(counters('softefa_0').rx_pkts).toBe(before.rx_pkts);
  await Promise.all([a.close(), b.close()]);
});
