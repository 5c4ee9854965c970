import '../support/softefa.js';
import { getInfo, version } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';
import { expect, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { enginePair } from '../support/engines.js';

const OPTIONS = { provider: 'efa', fabric: 'efa-direct', nics: 2 } as const;

const entries = getInfo({
  caps: ['FI_MSG', 'FI_RMA'],
  mode: ['FI_CONTEXT', 'FI_CONTEXT2'],
  epAttr: { type: 'FI_EP_RDM' },
  fabricAttr: { provName: 'efa', name: 'efa-direct' },
});
const missing =
  entries.length > 0
    ? undefined
    : `libfabric ${version().string} has no efa-direct with RMA on this device`;

test('without efa-direct, an engine that asks for it is refused with what it takes', async (context) => {
  if (missing === undefined) context.skip('efa-direct is there');
  await expect(TransferEngine.open(OPTIONS)).rejects.toMatchObject({
    code: 'FI_ENODATA',
    message: expect.stringMatching(/efa-direct.*libfabric 2/),
  });
});

test('over efa-direct, far more writes than receives arrive, in both directions', async (context) => {
  if (missing !== undefined) context.skip(missing);
  const { a, b, toA, toB } = await enginePair(OPTIONS);
  expect(a.rails.map(({ fabric, path }) => [fabric, path])).toEqual([
    ['efa-direct', 'rdma'],
    ['efa-direct', 'rdma'],
  ]);
  for (let round = 0; round < 40; round++) {
    const size = [100, 1 << 20, 4 << 20][round % 3] as number;
    const from = await a.register(pattern(size, round));
    const into = await b.register(new Uint8Array(size));
    const offer = await into.offer({ access: 'write', to: toA });
    const notification = Buffer.from(`${round}`);
    await toB.write(from, offer.token, round % 2 ? { notification } : {});
    const arrival = await offer.arrived;
    expect(same(arrival.bytes, from.bytes)).toBe(true);
    expect(arrival.notification && String(arrival.notification)).toBe(
      round % 2 ? `${round}` : undefined,
    );
    const back = await into.offer({ access: 'read', to: toA });
    from.bytes.fill(0);
    await toB.read(back.token, from);
    expect(same(from.bytes, into.bytes)).toBe(true);
    await Promise.all([from.close(), into.close()]);
  }
  await Promise.all(Array.from({ length: 300 }, (_, i) => toA.notify(Buffer.from(`${i}`))));
  const notifications = a.notifications();
  const seen = new Set<string>();
  while (seen.size < 300) seen.add(String((await notifications.next()).value.bytes));
});
