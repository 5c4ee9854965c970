// Views whose properties are overridden with false values.
import { type Endpoint, open, type Peer } from 'libfabric';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let ep: Endpoint<'FI_EP_RDM', 'FI_MSG' | 'FI_RMA'>;
let self: Peer;

beforeAll(async () => {
  ep = await open({ provider: 'shm', caps: ['FI_MSG', 'FI_RMA'] });
  self = ep.av.insert(ep.address);
});
afterAll(() => ep.close());

const PROPERTIES = ['length', 'byteLength', 'byteOffset', 'buffer'] as const;
const elsewhere = new ArrayBuffer(1 << 16);

/** Overrides a property of a view with a false value. */
function overridden<T extends Uint8Array | DataView>(
  view: T,
  property: (typeof PROPERTIES)[number],
  claim: unknown,
) {
  return Object.defineProperty(view, property, { get: () => claim });
}

const claims: [(typeof PROPERTIES)[number], unknown][] = [
  ['length', 8000],
  ['length', -1],
  ['byteLength', 1 << 20],
  ['byteLength', 0],
  ['byteOffset', 12],
  ['buffer', elsewhere],
];
const inside = () => new Uint8Array(Uint8Array.from({ length: 16 }, (_, i) => i).buffer, 4, 4);
const kinds: [string, () => Uint8Array | DataView][] = [
  ['Uint8Array', inside],
  ['Buffer', () => Buffer.from(inside().buffer, 4, 4)],
  ['DataView', () => new DataView(inside().buffer, 4, 4)],
];

async function receivedBytes(send: () => Promise<void>): Promise<number[]> {
  const into = new Uint8Array(1024);
  const received = ep.recv(into);
  await send();
  return [...into.subarray(0, (await received).length)];
}

describe.each(kinds)('%s', (_, make) => {
  test.each(claims)(
    'send and inject ignore the overridden %s of a view: %s',
    async (property, claim) => {
      expect(await receivedBytes(() => ep.send(overridden(make(), property, claim), self))).toEqual(
        [4, 5, 6, 7],
      );
      expect(
        await receivedBytes(() => ep.inject(overridden(make(), property, claim), self)),
      ).toEqual([4, 5, 6, 7]);
    },
  );

  test.each(claims)(
    'recv and register ignore the overridden %s of a view: %s',
    async (property, claim) => {
      const view = make();
      const bytes = new Uint8Array(view.buffer);
      const received = ep.recv(overridden(view, property, claim));
      await ep.send(Uint8Array.of(1, 2, 3, 4), self);
      await received;
      expect([...bytes.subarray(3, 9)]).toEqual([3, 1, 2, 3, 4, 8]);
      const region = await ep.domain.register(overridden(make(), property, claim), ['FI_SEND']);
      expect([...region.bytes]).toEqual([4, 5, 6, 7]);
      await region.close();
    },
  );
});

test('an inject of a view with an overridden length does not affect later operations', async () => {
  const received = Array.from({ length: 64 }, () => ep.recv(new Uint8Array(64)));
  const bytes = Uint8Array.from({ length: 64 }, () => 0xff);
  const sent = Array.from({ length: 64 }, () =>
    ep.inject(overridden(bytes.slice(), 'length', 1), self),
  );
  await Promise.all(sent);
  for (const { length } of await Promise.all(received)) expect(length).toBe(64);
});

test('remote() and insert() ignore overridden properties', async () => {
  const region = await ep.domain.allocate(64, ['FI_REMOTE_READ']);
  const descriptor = overridden(region.descriptor(), 'byteOffset', 8);
  expect(ep.domain.remote(overridden(descriptor, 'length', 4)).length).toBe(64);
  expect(() => ep.domain.remote(overridden(new Uint8Array(31), 'length', 32))).toThrow(/32 bytes/);
  expect(ep.av.insert(overridden(ep.address.slice(), 'length', 2))).toBe(self);
  await region.close();
});

test('a resizable buffer is refused even if its property says otherwise', async () => {
  const Resizable = ArrayBuffer as new (length: number, options: object) => ArrayBuffer;
  const buffer = new Resizable(8, { maxByteLength: 64 });
  Object.defineProperty(buffer, 'resizable', { value: false });
  await expect(ep.recv(buffer)).rejects.toThrow(/resizable/);
});
