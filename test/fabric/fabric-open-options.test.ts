// What open() takes besides the entry it looks for: each in one call, over every common provider.
import { type Counter, type Endpoint, type OpenOptions, open, version } from 'libfabric';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { until } from '../support/lifecycle.js';
import {
  available,
  closing,
  common,
  drivers,
  fabricError,
  loopback,
  Pair,
  pattern,
} from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_RMA'] as const;

describe.each(common)('%s', (provider) => {
  test('apiVersion is asked for', async (context) => {
    const place = { provider: available(context, provider, CAPS), ...loopback(provider) };
    const newest = closing(await open(place));
    expect(newest.info.fabricAttr.apiVersion).toBe(version().apiVersion);
    const older = closing(await open({ ...place, apiVersion: '1.15' }));
    expect(older.info.fabricAttr.apiVersion).toBe('1.15');
    await expect(open({ ...place, apiVersion: '99.0' })).rejects.toThrow(RangeError);
  });

  test('tclass, and the sizes of the queues', async (context) => {
    const place = { provider: available(context, provider, CAPS), ...loopback(provider) };
    const sized = closing(
      await open({
        ...place,
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
    expect(sized.cq.size).toBeGreaterThanOrEqual(1024);
    expect(sized.cq.format).toBe('FI_CQ_FORMAT_DATA');
    const pair = new Pair(sized, closing(await open(place)));
    const received = pair.b.recv(new Uint8Array(100));
    await pair.a.send(pattern(100), pair.toB);
    expect(await received).toMatchObject({ length: 100 });
  });

  test('a size that the provider does not have is FI_ENODATA, which names it', async (context) => {
    const place = { provider: available(context, provider, CAPS), ...loopback(provider) };
    const opening = open({ ...place, txAttr: { iovLimit: 2 ** 20 } });
    const refused = fabricError('FI_ENODATA');
    await expect(opening).rejects.toEqual(refused);
    await expect(opening).rejects.toThrow('no FI_EP_RDM endpoint with FI_MSG and this txAttr');
  });

  test('msgOrder: messages of a sender in order when left out, else what was asked', async (context) => {
    const place = { provider: available(context, provider, CAPS), ...loopback(provider) };
    const usual = await open(place);
    expect(usual.info.rxAttr.msgOrder).toContain('FI_ORDER_SAS');
    await usual.close(); // efa of 1.17 crashes where one is open while nothing matches
    const msgOrder = ['FI_ORDER_SAS', 'FI_ORDER_WAW'] as const;
    const opening = open({ ...place, caps: CAPS, msgOrder });
    const ordered = await opening.catch(({ code }) => code);
    if (ordered === 'FI_ENODATA') return; // efa orders no writes
    expect(closing(ordered).info.txAttr.msgOrder).toEqual(expect.arrayContaining([...msgOrder]));
    expect(ordered.info.rxAttr.msgOrder).toEqual(expect.arrayContaining([...msgOrder]));
  });

  test('options are set before the endpoint is enabled', async (context) => {
    const place = { provider: available(context, provider, CAPS), ...loopback(provider) };
    const options = { FI_OPT_MIN_MULTI_RECV: 321 } as const;
    const ep = closing(await open({ ...place, caps: ['FI_MSG', 'FI_MULTI_RECV'], options }));
    expect(ep.getOption('FI_OPT_MIN_MULTI_RECV')).toBe(321);
    const foreign = provider === 'efa' ? { FI_OPT_BUFFERED_LIMIT: 1 } : { FI_OPT_EFA_RNR_RETRY: 1 };
    await expect(open({ ...place, options: foreign })).rejects.toEqual(
      fabricError('FI_ENOPROTOOPT'),
    );
  });

  test.each(drivers)('counters count and go with the endpoint, %s driver', async (driver) => {
    const context = { skip: () => {} } as never;
    const place = { provider: available(context, provider, CAPS), ...loopback(provider), driver };
    const counters = { sent: ['FI_SEND'], came: ['FI_RECV'] } as const;
    const pair = new Pair<'FI_EP_RDM', 'FI_MSG'>(
      closing(await open({ ...place, counters })),
      closing(await open({ ...place, counters })),
    );
    const { a, b, toB } = pair;
    const { sent, came } = a.counters;
    for (let i = 0; i < 3; i++) {
      const received = b.recv(new Uint8Array(8));
      await pair.done(a.send(pattern(8), toB));
      await pair.done(received);
    }
    await until(() => sent?.read() === 3n && b.counters.came?.read() === 3n);
    expect(came?.read()).toBe(0n);
    await a.close();
    expect(sent?.closed).toBe(true);
  });
});

test('counters are known by the names given to them, for the compiler, too', async () => {
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
])('%j is refused, and nothing stays open', async (options, code) => {
  const opening = open({ provider: 'shm', ...options } as OpenOptions);
  await expect(opening).rejects.toEqual(expect.objectContaining({ code }));
});
