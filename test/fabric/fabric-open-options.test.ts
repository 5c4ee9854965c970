// The options of open(), over every common provider.
import '../support/default-queues.js';
import { type Counter, type Endpoint, type OpenOptions, open, version } from 'libfabric';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { until } from '../support/lifecycle.js';
import { common, drivers } from '../support/providers.js';
import { available, closing, fabricError, loopback, Pair } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_RMA'] as const;

describe.each(common)('%s', (provider) => {
  test('apiVersion selects the API version', async (context) => {
    const base = { provider: available(context, provider, CAPS), ...loopback(provider) };
    const newest = closing(await open(base));
    expect(newest.info.fabricAttr.apiVersion).toBe(version().apiVersion);
    const older = closing(await open({ ...base, apiVersion: '1.15' }));
    expect(older.info.fabricAttr.apiVersion).toBe('1.15');
    await expect(open({ ...base, apiVersion: '99.0' })).rejects.toThrow(RangeError);
  });

  test('tclass and the sizes of queues are set', async (context) => {
    const base = { provider: available(context, provider, CAPS), ...loopback(provider) };
    const sized = closing(
      await open({
        ...base,
        tclass: 'FI_TC_LOW_LATENCY',
        txAttr: { size: 64 },
        rxAttr: { size: 128 },
        cq: { size: 1024, format: 'FI_CQ_FORMAT_DATA' },
        av: { count: 16 },
      }),
    );
    expect(sized.info.txAttr.tclass).toBe('FI_TC_LOW_LATENCY');
    expect(sized.info.txAttr.size).toBeGreaterThanOrEqual(64);
    expect(sized.info.rxAttr.size).toBeGreaterThanOrEqual(128);
    expect(sized.receiveQueue.size).toBeGreaterThanOrEqual(1024);
    expect(sized.receiveQueue.format).toBe('FI_CQ_FORMAT_DATA');
    const pair = new Pair(sized, closing(await open(base)));
    const received = pair.b.recv(new Uint8Array(100));
    await pair.a.send(pattern(100), pair.toB);
    expect(await received).toMatchObject({ length: 100 });
  });

  test('a size that the provider does not support fails with FI_ENODATA, which names the attribute', async (context) => {
    const base = { provider: available(context, provider, CAPS), ...loopback(provider) };
    const opening = open({ ...base, txAttr: { iovLimit: 2 ** 20 } });
    const refused = fabricError('FI_ENODATA');
    await expect(opening).rejects.toEqual(refused);
    await expect(opening).rejects.toThrow('no FI_EP_RDM endpoint with FI_MSG and this txAttr');
  });

  test('open() requests FI_ORDER_SAS unless msgOrder is given', async (context) => {
    const base = { provider: available(context, provider, CAPS), ...loopback(provider) };
    const usual = await open(base);
    expect(usual.info.rxAttr.msgOrder).toContain('FI_ORDER_SAS');
    await usual.close(); // efa of 1.17 crashes if an endpoint is open while a query finds nothing
    const msgOrder = ['FI_ORDER_SAS', 'FI_ORDER_WAW'] as const;
    const opening = open({ ...base, caps: CAPS, msgOrder });
    const ordered = await opening.catch(({ code }) => code);
    if (ordered === 'FI_ENODATA') return; // efa does not order writes
    expect(closing(ordered).info.txAttr.msgOrder).toEqual(expect.arrayContaining([...msgOrder]));
    expect(ordered.info.rxAttr.msgOrder).toEqual(expect.arrayContaining([...msgOrder]));
  });

  test('options are set before the endpoint is enabled', async (context) => {
    const base = { provider: available(context, provider, CAPS), ...loopback(provider) };
    const options = { FI_OPT_MIN_MULTI_RECV: 321 } as const;
    const ep = closing(await open({ ...base, caps: ['FI_MSG', 'FI_MULTI_RECV'], options }));
    expect(ep.getOption('FI_OPT_MIN_MULTI_RECV')).toBe(321);
    const foreign = provider === 'efa' ? { FI_OPT_BUFFERED_LIMIT: 1 } : { FI_OPT_EFA_RNR_RETRY: 1 };
    await expect(open({ ...base, options: foreign })).rejects.toEqual(
      fabricError('FI_ENOPROTOOPT'),
    );
  });

  test.each(drivers)('counters count and close with the endpoint, %s driver', async (driver) => {
    const context = { skip: () => {} } as never;
    const base = { provider: available(context, provider, CAPS), ...loopback(provider), driver };
    const counters = { sent: ['FI_SEND'], received: ['FI_RECV'] } as const;
    const pair = new Pair<'FI_EP_RDM', 'FI_MSG'>(
      closing(await open({ ...base, counters })),
      closing(await open({ ...base, counters })),
    );
    const { a, b, toB } = pair;
    const { sent, received } = a.counters;
    for (let i = 0; i < 3; i++) {
      const received = b.recv(new Uint8Array(8));
      await pair.done(a.send(pattern(8), toB));
      await pair.done(received);
    }
    await until(() => sent?.read() === 3n && b.counters.received?.read() === 3n);
    expect(received?.read()).toBe(0n);
    await a.close();
    expect(sent?.closed).toBe(true);
  });
});

test('counters have the given names, also in the TypeScript type', async () => {
  const ep = closing(await open({ provider: 'shm', counters: { sent: ['FI_SEND'] } }));
  expectTypeOf(ep.counters.sent).toExtend<Counter>();
  expectTypeOf(ep).toExtend<Endpoint<'FI_EP_RDM', 'FI_MSG'>>();
  expect(Object.keys(ep.counters)).toEqual(['sent']);
  const without = closing(await open({ provider: 'shm' }));
  expect(without.counters).toEqual({});
});

test.each<[object, string]>([
  [{ counters: [] }, 'ERR_INVALID_ARG_TYPE'],
  [{ counters: { sent: 'FI_SEND' } }, 'ERR_INVALID_ARG_TYPE'],
  [{ counters: { sent: ['FI_SENT'] } }, 'ERR_INVALID_ARG_VALUE'],
  [{ options: 5 }, 'ERR_INVALID_ARG_TYPE'],
  [{ options: { FI_OPT_NONE: 1 } }, 'ERR_INVALID_ARG_VALUE'],
  [{ options: { FI_OPT_EFA_EMULATED_READ: true } }, 'ERR_INVALID_ARG_VALUE'],
  [{ options: { FI_OPT_MIN_MULTI_RECV: '1' } }, 'ERR_INVALID_ARG_TYPE'],
  [{ tclass: 'FI_TC_FAST' }, 'ERR_INVALID_ARG_VALUE'],
  [{ tclass: 5 }, 'ERR_INVALID_ARG_TYPE'],
  [{ msgOrder: 'FI_ORDER_SAS' }, 'ERR_INVALID_ARG_TYPE'],
  [{ msgOrder: ['FI_ORDER_SASS'] }, 'ERR_INVALID_ARG_VALUE'],
  [{ txAttr: 5 }, 'ERR_INVALID_ARG_TYPE'],
  [{ txAttr: { sizes: 5 } }, 'ERR_INVALID_ARG_VALUE'],
  [{ rxAttr: { size: -1 } }, 'ERR_OUT_OF_RANGE'],
  [{ cq: { size: -1 } }, 'ERR_OUT_OF_RANGE'],
  [{ cq: [] }, 'ERR_INVALID_ARG_TYPE'],
  [{ av: { type: 'FI_AV' } }, 'ERR_INVALID_ARG_VALUE'],
  [{ apiVersion: 1.17 }, 'ERR_INVALID_ARG_TYPE'],
  [{ apiVersion: '1' }, 'ERR_INVALID_ARG_VALUE'],
])('%j is refused', async (options, code) => {
  const opening = open({ provider: 'shm', ...options } as OpenOptions);
  await expect(opening).rejects.toEqual(expect.objectContaining({ code }));
});
