// Counters of other vendors' devices, also after their driver was reloaded.
import { type CounterSample, counters } from 'libfabric/verbs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addConnectX, FakeSysfs, hasRdmaDevice } from '../support/fake-sysfs.js';
import { foreignController, listenersOf } from '../support/signals.js';

const DEVICE = 'class/infiniband/mlx5_0';
const RECEIVED = `${DEVICE}/ports/1/counters/port_rcv_data`;

describe.skipIf(hasRdmaDevice())("another vendor's device", () => {
  let fake: FakeSysfs;
  beforeEach(() => {
    fake = new FakeSysfs();
    addConnectX(fake);
    process.env.SYSFS_PATH = fake.root;
  });
  afterEach(() => {
    delete process.env.SYSFS_PATH;
    fake.remove();
  });

  test('has the numeric counters of the device and of the port', () => {
    expect(counters('mlx5_0')).toEqual({
      resets: 2n,
      port_xmit_data: 2n ** 64n - 1n,
      port_rcv_data: 1000n,
      port_rcv_packets: 10n,
      out_of_buffer: 3n,
    });
    expect(counters('mlx5_0', { port: 2 })).toEqual({ resets: 2n });
  });

  test('has counters that JSON represents as digits', async () => {
    expect(JSON.parse(JSON.stringify(counters('mlx5_0')))).toMatchObject({
      port_xmit_data: String(2n ** 64n - 1n),
      resets: '2',
    });
    const { value } = await counters.watch('mlx5_0', { interval: 1 }).next();
    const { values, deltas } = JSON.parse(JSON.stringify(value));
    expect([values.resets, deltas.resets]).toEqual(['2', '0']);
  });

  test('has deltas, also after its driver was reloaded', async () => {
    const watched = counters.watch('mlx5_0', { interval: 20 });
    const next = async () => (await watched.next()).value as CounterSample;
    fake.put({ [RECEIVED]: 1500 });
    const first = await next();
    expect(first.at).toBeInstanceOf(Date);
    expect(first.deltas).toMatchObject({ port_rcv_data: 500n, port_rcv_packets: 0n });
    expect(first.perSecond.port_rcv_data).toBeGreaterThan(0);
    expect(first.perSecond.port_rcv_data).toBeLessThanOrEqual(500 / 0.01);
    expect((await next()).deltas.port_rcv_data).toBe(0n);

    fake.put({ [RECEIVED]: 40 });
    const later = await next();
    expect(later.deltas.port_rcv_data).toBe(40n);
    expect(later.values.port_rcv_data).toBe(1540n);
    await watched.return();
  });

  test('a watch that is left settles its calls immediately and leaves no timer', async () => {
    const timers = () =>
      process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const watched = counters.watch('mlx5_0', { interval: 60_000 });
    const pending = [watched.next(), watched.next()];
    await watched.return();
    for (const call of pending) expect((await call).done).toBe(true);
    expect((await watched.next()).done).toBe(true);
    expect(timers()).toBe(before);
  });

  test('a signal ends the watch immediately with its reason', async () => {
    const control = new AbortController();
    const watched = counters.watch('mlx5_0', { interval: 60_000, signal: control.signal });
    const sample = watched.next();
    control.abort(new Error('enough'));
    await expect(sample).rejects.toThrow('enough');
    expect(() => counters.watch('mlx5_0', { signal: control.signal })).toThrow('enough');
  });

  test('watches that a signal ends share one listener, and a signal of another realm ends them', async () => {
    const { signal } = new AbortController();
    const options = { interval: 60_000, signal };
    const watches = Array.from({ length: 20 }, () => counters.watch('mlx5_0', options));
    for (const watched of watches) watched.next();
    expect(listenersOf(signal)).toBe(1);

    const control = foreignController();
    const sample = counters.watch('mlx5_0', { interval: 60_000, signal: control.signal }).next();
    control.abort(new Error('enough'));
    await expect(sample).rejects.toThrow('enough');
  });
});
