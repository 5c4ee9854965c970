// FI_SELECTIVE_COMPLETION: operations that are posted without FI_COMPLETION only have entries if they fail.
import { type Direction, Fabric } from 'libfabric';
import { describe, expect, type TestContext, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { onCommon } from '../support/cases.js';
import { until } from '../support/lifecycle.js';
import type { drivers } from '../support/providers.js';
import { available, closing, entryOf, Pair } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_RMA'] as const;
const FLAGS = { flags: ['FI_COMPLETION'] } as const;

function selecting(
  context: TestContext,
  provider: string,
  driver: (typeof drivers)[number],
  selectiveCompletion: readonly Direction[],
) {
  const provName = available(context, provider, CAPS);
  const open = () => {
    const info = entryOf(provName, CAPS);
    const domain = closing(Fabric.open(info)).domain(info, { driver });
    const queues = { cq: domain.completionQueue(), av: domain.addressVector() };
    return domain.endpoint(info, { ...queues, selectiveCompletion });
  };
  return new Pair(open(), open());
}

describe.each(onCommon)('%s, %s driver', (provider, driver) => {
  test('a send without FI_COMPLETION arrives and has no entry', async (context) => {
    const wire = selecting(context, provider, driver, ['FI_TRANSMIT']);
    const { a, b, toB } = wire;
    const targets = Array.from({ length: 20 }, () => new Uint8Array(8));
    const received = Promise.all(targets.map((target) => b.recv(target)));
    for (let i = 0; i < 19; i++) a.post.send(pattern(8, i), toB, { context: i });
    a.post.send(pattern(8, 19), toB, { ...FLAGS, context: 19 });
    await wire.done(received);
    for (const [i, target] of targets.entries()) expectBytes(target, pattern(8, i));
    // Promises and batches are not affected.
    const batch = a.batch();
    batch.send(new Uint8Array(8), toB);
    const other = b.recv(new Uint8Array(8));
    await wire.done(batch.submit());
    await wire.done(other);
    const last = b.recv(new Uint8Array(8));
    await wire.done(a.send(pattern(8), toB));
    await wire.done(last);
    await wire.done(until(() => a.domain.stats().completions >= 22));
    const entries = a.sendQueue.read();
    expect(entries.map((entry) => entry.context)).toEqual([19]);
  });

  test('receives can be selected independently, and a failed one has an entry', async (context) => {
    const wire = selecting(context, provider, driver, ['FI_RECV']);
    const { a, b, toB } = wire;
    const target = new Uint8Array(8);
    b.post.recv(target, null, { context: 'silent' });
    b.post.recv(new Uint8Array(8), null, { ...FLAGS, context: 'reported' });
    const short = new Uint8Array(4);
    if (provider !== 'tcp;ofi_rxm') b.post.recv(short, null, { context: 'failed' });
    const sends = provider === 'tcp;ofi_rxm' ? 2 : 3;
    for (let i = 0; i < sends; i++) a.post.send(pattern(8, i), toB, { context: i });
    const received: unknown[] = [];
    const sent: unknown[] = [];
    await wire.done(
      until(() => {
        received.push(...b.receiveQueue.read().map(({ context: of, error }) => [of, error?.code]));
        sent.push(...a.sendQueue.read().map((entry) => entry.context));
        return received.length >= sends - 1 && sent.length >= sends;
      }),
    );
    const failed = sends === 3 ? [['failed', 'FI_ETRUNC']] : [];
    expect(received).toEqual([['reported', undefined], ...failed]);
    expect(sent).toHaveLength(sends);
    expectBytes(target, pattern(8, 0));
  });
});

test('selectiveCompletion refuses invalid directions', (context) => {
  const open = (which: unknown) => () => selecting(context, 'shm', 'loop', which as never);
  expect(open('FI_RECV')).toThrow('options.selectiveCompletion must be an array');
  expect(open(['FI_SEND'])).toThrow('options.selectiveCompletion[0] must be one of');
});
