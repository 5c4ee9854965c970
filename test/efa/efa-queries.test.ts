// domain.efa, the queries that only the efa provider has, on the software device with the installed
// libfabric. 1.17 has none, 1.22 has queries of regions, 2.3 of efa-direct objects, 2.6 of features.
import { getInfo, open, version } from 'libfabric';
import type { EfaQpWqs } from 'libfabric/efa';
import { describe, expect, test } from 'vitest';
import { whyNotDirect } from '../support/direct-library.js';
import { drivers } from '../support/providers.js';
import { closing, fabricError, Pair } from '../support/transfer.js';

const { major, minor } = version();
const has = (...since: [number, number]) =>
  major > since[0] || (major === since[0] && minor >= since[1]);
/** Returns the result of a call, or the code of its error. */
const outcome = (call: () => unknown) => {
  try {
    return call();
  } catch (error) {
    return (error as { code: string }).code;
  }
};

const absent = fabricError('FI_ENOSYS');

const hints = { fabricAttr: { provName: 'efa', name: 'efa-direct' } } as const;
const direct = getInfo({ ...hints, epAttr: { type: 'FI_EP_RDM' } }).length > 0;

describe.each(drivers)('%s driver', (driver) => {
  test('queryMr() returns the interconnects of a region if the library supports it', async () => {
    const ep = closing(await open({ provider: 'efa', caps: ['FI_MSG', 'FI_RMA'], driver }));
    const region = await ep.domain.allocate(4096, ['FI_REMOTE_READ']);
    const query = () => ep.domain.efa?.queryMr(region);
    // The software device has none. A libfabric that was built with an old rdma-core has no query.
    if (has(1, 22)) expect([{}, 'FI_ENOSYS']).toContainEqual(outcome(query));
    else expect(query).toThrow(absent as Error);
    const message = 'this needs libfabric 1.22';
    if (!has(1, 22)) expect(query).toThrow(message);
    const ended = region.close();
    expect(query).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
    if (driver === 'manual') ep.domain.progress();
    await ended;
  });

  test('efa-direct has queries of keys, addresses and queues, as far as the device supports them', async (context) => {
    if (!direct) context.skip('libfabric < 2.1 has no efa-direct');
    const options = { provider: 'efa', fabric: 'efa-direct', driver } as const;
    const a = closing(await open(options));
    const b = closing(await open(options));
    const { toB } = new Pair<'FI_EP_RDM', 'FI_MSG'>(a, b);
    const region = await a.domain.allocate(4096, ['FI_SEND']);
    const { efa } = a.domain;
    if (!has(2, 2)) return expect(() => efa?.queryAddr(a, toB)).toThrow(absent as Error);
    const peer = efa?.queryAddr(a, toB);
    expect(peer?.remoteQpn).toBe(Buffer.from(b.address).readUInt16LE(16));
    if (has(2, 3)) expect(efa?.getMrLkey(region)).toBeGreaterThan(0n);
    const queues = [outcome(() => efa?.queryQpWqs(a)), outcome(() => efa?.queryCq(a.receiveQueue))];
    if (process.env.SOFTEFA_DIRECT === '1' && whyNotDirect() === undefined) {
      const { sq, rq } = queues[0] as EfaQpWqs;
      expect(sq).toMatchObject({ entrySize: 64 });
      expect(rq).toMatchObject({ entrySize: 16 });
      expect(queues[1]).toMatchObject({ entrySize: 32 });
    } else {
      // The software device has such queues only if SOFTEFA_DIRECT is 1.
      for (const code of queues) expect(['FI_EOPNOTSUPP', 'FI_ENOSYS']).toContain(code);
    }
  });
});

test('the fabric efa has no queries of addresses and queues; the error names the requirement', async () => {
  const ep = closing(await open({ provider: 'efa' }));
  const { efa } = ep.domain;
  const peer = ep.av.insert(ep.address);
  if (major === 2 && minor === 2) return;
  const code = has(2, 3) ? 'FI_EOPNOTSUPP' : 'FI_ENOSYS';
  const region = await ep.domain.allocate(4096, ['FI_SEND']);
  const calls = [
    () => efa?.queryAddr(ep, peer),
    () => efa?.queryQpWqs(ep),
    () => efa?.queryCq(ep.receiveQueue),
    () => efa?.getMrLkey(region),
  ];
  for (const call of calls) {
    expect(call).toThrow(fabricError(code) as Error);
    expect(call).toThrow('this needs libfabric 2.3 and the fabric efa-direct');
  }
});

test('query() of features needs libfabric 2.6', async () => {
  const fabric = has(2, 6) ? 'efa-direct' : 'efa';
  const ep = closing(await open({ provider: 'efa', fabric }));
  const query = (feature: string) => ep.domain.efa?.query(feature);
  if (!has(2, 6)) return expect(() => query('mixed_hmem_iov')).toThrow(absent as Error);
  expect(query('mixed_hmem_iov')).toBe(true);
  expect(query('none such')).toBe(false);
});

test('queries refuse objects of other domains and wrong types', async () => {
  const ep = closing(await open({ provider: 'efa' }));
  const other = closing(await open({ provider: 'efa' }));
  const { efa } = ep.domain;
  const region = await other.domain.allocate(4096, ['FI_SEND']);
  const value = expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' });
  const type = expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' });
  expect(() => efa?.queryMr(region)).toThrow(value);
  expect(() => efa?.queryCq(other.receiveQueue)).toThrow(value);
  expect(() => efa?.queryQpWqs(other)).toThrow(value);
  expect(() => efa?.queryAddr(ep, other.av.insert(ep.address))).toThrow(value);
  for (const wrong of [null, {}, 5, region.slice(0)]) {
    expect(() => efa?.queryMr(wrong as never)).toThrow(type);
    expect(() => efa?.queryCq(wrong as never)).toThrow(type);
    expect(() => efa?.queryQpWqs(wrong as never)).toThrow(type);
    expect(() => efa?.queryAddr(ep, wrong as never)).toThrow(type);
    expect(() => efa?.query(wrong as never)).toThrow(type);
  }
});

test('other providers have no such queries', async () => {
  const ep = closing(await open({ provider: 'shm' }));
  expect(ep.domain.efa).toBeUndefined();
});
