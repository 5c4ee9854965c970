// Queues with room for a few operations: all messages that are sent at once arrive, complete. Operations without room
// are refused by the provider, or held back by this package.
import '../support/default-queues.js';
import { type DriverKind, open, version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { casesOf, isQuick } from '../support/cases.js';
import { runInline } from '../support/command.js';
import { drivers } from '../support/providers.js';
import { withSoftefa } from '../support/softefa.js';
import { available, closing, loopback, Pair } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_TAGGED', 'FI_RMA'] as const;
const LANES = 12;
// Of one packet, of several, and of more packets than a small queue has room for.
const SIZES = [100, 5000, 100_000, 400_000];

const all = ['efa', 'shm', 'tcp;ofi_rxm', 'udp;ofi_rxd'].flatMap((provider) =>
  drivers.flatMap((driver) => [1, 8].map((size) => ({ provider, driver, size }))),
);

describe.each(casesOf(all, isQuick))(
  '$provider, $driver driver, queues of $size',
  ({ provider, driver, size }) => {
    const smallPair = async (context: Parameters<typeof available>[0]) => {
      const name = available(context, provider, CAPS);
      const options = {
        ...{ provider: name, caps: CAPS, driver: driver as DriverKind, ...loopback(name) },
        ...{ txAttr: { size }, rxAttr: { size } },
      };
      const a = closing(await open(options));
      expect(a.info.txAttr.size).toBeGreaterThanOrEqual(size);
      return new Pair<'FI_EP_RDM', (typeof CAPS)[number]>(a, closing(await open(options)));
    };

    test('tagged messages of parallel senders arrive, in both directions', async (context) => {
      const wire = await smallPair(context);
      const { a, b, toA, toB } = wire;
      const lane = async (from: typeof a, to: typeof b, peer: typeof toB, tag: number) => {
        for (const length of SIZES) {
          const sent = pattern(length, tag + 1);
          const into = new Uint8Array(length);
          await Promise.all([to.trecv(into, null, tag), from.tsend(sent, peer, tag)]);
          expect(same(into, sent), `tag ${tag}, ${length} bytes`).toBe(true);
        }
      };
      const lanes = Array.from({ length: LANES }, (_, tag) =>
        tag % 2 === 0 ? lane(a, b, toB, tag) : lane(b, a, toA, tag),
      );
      await wire.done(Promise.all(lanes));
    });

    test('messages, injects and a batch that are sent at once arrive', async (context) => {
      const wire = await smallPair(context);
      const { a, b, toB } = wire;
      const length = Math.min(64, a.info.txAttr.injectSize);
      const count = 100;
      const buffers = Array.from({ length: 3 * count }, () => new Uint8Array(length));
      const receives = buffers.map((bytes) => b.recv(bytes));
      const batch = a.batch();
      for (let i = 0; i < count; i++) batch.send(new Uint8Array(length).fill(1), toB);
      const sends: Promise<unknown>[] = [batch.submit()];
      for (let i = 0; i < count; i++) {
        sends.push(a.send(new Uint8Array(length).fill(2), toB));
        sends.push(a.inject(new Uint8Array(length).fill(3), toB));
      }
      await wire.done(Promise.all([...receives, ...sends]));
      const kinds = buffers.map((bytes) => bytes[length - 1]);
      for (const kind of [1, 2, 3])
        expect(kinds.filter((each) => each === kind)).toHaveLength(count);
    });

    test('writes that are posted at once arrive', async (context) => {
      const wire = await smallPair(context);
      const { a, b, toB } = wire;
      const count = 64;
      const target = await b.domain.allocate(count * 1024, ['FI_REMOTE_WRITE']);
      const remote = a.domain.remote(target.descriptor());
      const writes = Array.from({ length: count }, (_, i) =>
        a.write(pattern(1024, i), toB, remote, {
          offset: i * 1024,
          flags: ['FI_DELIVERY_COMPLETE'],
        }),
      );
      await wire.done(Promise.all(writes));
      for (let i = 0; i < count; i++) {
        const found = target.bytes.subarray(i * 1024, (i + 1) * 1024);
        expect(same(found, pattern(1024, i)), `write ${i}`).toBe(true);
      }
    });
  },
);

test.for(casesOf(['efa', 'shm', 'tcp;ofi_rxm', 'udp;ofi_rxd'], () => true))(
  '%s: 3000 messages that are sent at once arrive, more than the provider has room for by default',
  async (provider, context) => {
    const name = available(context, provider, ['FI_MSG']);
    const options = { provider: name, ...loopback(name) };
    const wire = new Pair<'FI_EP_RDM', 'FI_MSG'>(
      closing(await open(options)),
      closing(await open(options)),
    );
    const receives = Array.from({ length: 3000 }, () => wire.b.recv(new Uint8Array(8)));
    const sends = receives.map(() => wire.a.send(pattern(8), wire.toB));
    const received = await wire.done(Promise.all(receives));
    await Promise.all(sends);
    expect(received.every(({ length }) => length === 8)).toBe(true);
  },
);

const { major, minor } = version();
const isOld = major === 1 && minor < 19;

test('efa since 1.19 gets the provider’s own queue, however small a queue is asked for', async (context) => {
  available(context, 'efa', ['FI_MSG']);
  const own = closing(await open({ provider: 'efa' }));
  const small = closing(await open({ provider: 'efa', txAttr: { size: 8 } }));
  expect(small.info.txAttr.size).toBe(isOld ? 8 : own.info.txAttr.size);
});

test('efa since 1.19: open() refuses a queue that FI_EFA_TX_SIZE makes too small', (context) => {
  available(context, 'efa', ['FI_MSG']);
  const program = `
    import { open } from 'libfabric';
    const opening = open({ provider: 'efa' });
    console.log(await opening.then(({ info }) => info.txAttr.size, ({ message }) => message));
    process.exit();`;
  const sizeOf = (variables: NodeJS.ProcessEnv) =>
    runInline(program, { ...withSoftefa(), ...variables }).stdout;
  expect(sizeOf({ FI_EFA_TX_SIZE: '32' })).toBe('32\n');
  const refusal = (least: number) => new RegExp(`FI_EINVAL.*FI_EFA_TX_SIZE to ${least} or more`);
  const refused = { FI_EFA_TX_SIZE: '32', FI_EFA_TX_MIN_CREDITS: '100' };
  expect(sizeOf({ FI_EFA_TX_SIZE: '8' })).toMatch(isOld ? '8\n' : refusal(32));
  expect(sizeOf(refused)).toMatch(isOld ? '32\n' : refusal(100));
});
