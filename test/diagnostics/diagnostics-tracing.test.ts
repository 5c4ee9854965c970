// tracingChannel('libfabric:operation'): the events of an endpoint's operations, in the async context of their calls.
import { type OperationTraceMessage, released } from 'libfabric';
import { describe, expect, test } from 'vitest';
import '../support/softefa.js';
import { pattern } from '../support/bytes.js';
import { FAILS, record, SUCCEEDS } from '../support/traces.js';
import { pair } from '../support/transfer.js';

const recorded = () => record<OperationTraceMessage>('libfabric:operation');

describe.each(['shm', 'tcp;ofi_rxm', 'efa'])('%s', (provider) => {
  test('the events of an operation have one message with its call, peer, bytes and result', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_TAGGED', 'FI_RMA']);
    const { a, b, toB } = wire;
    const memory = await b.domain.allocate(4096, ['FI_REMOTE_WRITE', 'FI_REMOTE_READ']);
    const remote = a.domain.remote(memory.descriptor());
    const local = await a.domain.allocate(4096, ['FI_WRITE', 'FI_READ']);
    const { traces } = recorded();

    const received = b.recv(new Uint16Array(32));
    expect(traces[0]?.events).toEqual(['start', 'end']);
    const about = { endpoint: b, call: 'recv', peer: undefined, bytes: 64 };
    expect(traces[0]?.message).toEqual(about);
    await a.sendv([pattern(8), pattern(4)], toB);
    expect(traces[0]?.message).toEqual({ ...about, result: await received });
    expect(traces[0]?.events).toEqual(SUCCEEDS);

    await Promise.all([a.tsend(pattern(8), toB, 1n), b.trecv(new ArrayBuffer(8), null, 1n)]);
    await a.write(local.slice(0, 100), toB, remote);
    await a.read(local, toB, remote);
    const calls = traces.map(({ message: { call, peer, bytes } }) => [call, peer, bytes]);
    expect(calls).toEqual([
      ['recv', undefined, 64],
      ['sendv', toB, 12],
      ['tsend', toB, 8],
      ['trecv', undefined, 8],
      ['write', toB, 100],
      ['read', toB, 4096],
    ]);
    for (const { events } of traces) expect(events).toEqual(SUCCEEDS);
  });
});

describe.each(['thread', 'loop', 'manual'] as const)('%s driver', (driver) => {
  test('operations that complete together each see the async context of their call', async (context) => {
    const wire = await pair(context, 'shm', ['FI_MSG'], driver);
    const { storage, traces, eventsOf } = recorded();
    const numbers = Array.from({ length: 100 }, (_, i) => i);
    const receives = numbers.map((i) =>
      storage.run(`recv ${i}`, () => wire.b.recv(new Uint8Array(8))),
    );
    const sends = numbers.map((i) =>
      storage.run(`send ${i}`, () => wire.a.send(pattern(8), wire.toB)),
    );
    await wire.done(Promise.all([...receives, ...sends]));
    expect(traces).toHaveLength(200);
    for (const i of numbers) {
      expect(eventsOf(`recv ${i}`)).toEqual(SUCCEEDS);
      expect(eventsOf(`send ${i}`)).toEqual(SUCCEEDS);
    }
  });

  test('operations that fail publish their errors in the async context of their call', async (context) => {
    const wire = await pair(context, 'shm', ['FI_MSG'], driver);
    const { storage, traces, eventsOf } = recorded();
    const receive = (name: string, options: { signal?: AbortSignal; timeout?: number } = {}) =>
      storage.run(name, () => wire.b.recv(new Uint8Array(8), null, options));
    const aborting = new AbortController();
    const aborted = receive('aborted', { signal: aborting.signal });
    const late = receive('late', { timeout: 1 });
    receive('closed'); // nobody awaits it
    const reason = new Error('enough');
    storage.run('another', () => aborting.abort(reason));
    expect(await wire.fails(aborted)).toBe(reason);
    expect(await wire.fails(late)).toMatchObject({ code: 'FI_ETIMEDOUT' });
    const refused = storage.run('refused', () => wire.a.send('no bytes' as never, wire.toB));
    const misuse = (await wire.fails(refused)) as Error & { code: string };
    expect(misuse.code).toBe('ERR_INVALID_ARG_TYPE');
    expect(misuse.stack?.split('\n    at ')[1]).toContain('diagnostics-tracing.test');
    await wire.done(Promise.all([released(aborted), released(late)]));
    await storage.run('another', () => wire.done(wire.b.close()));
    expect(traces.map(({ message }) => message.error)).toMatchObject([
      reason,
      { code: 'FI_ETIMEDOUT' },
      { code: 'FI_ECANCELED' },
      { code: 'ERR_INVALID_ARG_TYPE' },
    ]);
    for (const name of ['aborted', 'late', 'refused', 'closed'])
      expect([name, ...eventsOf(name)]).toEqual([name, ...FAILS]);
    expect(eventsOf('another')).toEqual([]);
  });
});

test('batches, endpoint.post and streams publish no operations', async (context) => {
  const wire = await pair(context, 'shm', ['FI_MSG']);
  const { traces } = recorded();
  const messages = wire.b.messages({ count: 4, size: 64 });
  const batch = wire.a.batch();
  batch.send(pattern(8), wire.toB);
  await wire.done(batch.submit());
  wire.a.post.send(pattern(8), wire.toB);
  for (let i = 0; i < 2; i++) await messages.next();
  await messages.return();
  expect(traces).toEqual([]);
});
