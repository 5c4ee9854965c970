// Sends of buffers that are used only once. The operation carries a few bytes itself, the engine copies
// buffers that fit a packet, and registers longer ones. None of this blocks the event loop.
import { dumpState } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { everywhere } from '../support/cases.js';
import { runInline } from '../support/command.js';
import { STALL_MS, Stalls } from '../support/event-loop.js';
import { drivers } from '../support/providers.js';
import { testFaults, withSoftefa } from '../support/softefa.js';
import { datagramPair, type Pair, pair } from '../support/transfer.js';

const MIB = 2 ** 20;
const faults = testFaults();

/** Returns the number of buffers in the engine of the sender, the last but one that was opened. */
function senderBuffers(): number {
  const engine = dumpState().domains.at(-2)?.engine;
  if (!engine) throw new Error('no engine');
  return engine.memory.buffers + engine.memory.regions;
}

/** Sends `count` new buffers, and receives them into a few that are reused. */
async function stream(wire: Pair<'FI_EP_RDM', 'FI_MSG'>, count: number, size: number) {
  const { a, b, toB } = wire;
  const slots = Array.from({ length: 256 }, () => new Uint32Array(size / 4));
  const seen = new Uint8Array(count);
  let posted = 0;
  const receive = async (slot: Uint32Array) => {
    while (posted < count) {
      posted++;
      await b.recv(slot);
      const [number, check] = slot as never as [number, number];
      if (check === ~number >>> 0) seen[number] = (seen[number] as number) + 1;
    }
  };
  const send = async () => {
    for (let i = 0; i < count; ) {
      const window: Promise<void>[] = [];
      for (let j = 0; j < 256 && i < count; j++, i++) {
        const fresh = new Uint32Array(size / 4);
        fresh[0] = i;
        fresh[1] = ~i;
        window.push(a.send(fresh, toB));
      }
      await Promise.all(window);
    }
  };
  await wire.done(Promise.all([send(), ...slots.map(receive)]));
  expect(seen.every((times) => times === 1)).toBe(true);
}

describe.each(everywhere)('%s, %s driver', (provider, driver) => {
  test('1000 new buffers of 64 bytes arrive, and the engine keeps none of them', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const before = senderBuffers();
    await stream(wire, 1000, 64);
    expect(senderBuffers() - before).toBeLessThan(2);
  });

  test('send() transfers the contents that the buffer has when send() returns', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    for (const size of [1, 63, 64, 65, 128, 191, 192]) {
      const calls = [
        (bytes: Uint8Array) => a.send(bytes, toB),
        (bytes: Uint8Array) => a.send(bytes, toB, { flags: ['FI_DELIVERY_COMPLETE'] }),
        (bytes: Uint8Array) => a.tsend(bytes, toB, 5n),
        (bytes: Uint8Array) => a.send(bytes.subarray(0), toB, { timeout: 5000 }),
      ];
      for (const [i, call] of calls.entries()) {
        if (i === 1 && !['efa', 'shm'].includes(provider)) continue;
        const target = new Uint8Array(size + 8);
        const received = i === 2 ? b.trecv(target, null, 5n) : b.recv(target);
        const bytes = pattern(size + 16, size + i).subarray(8, 8 + size);
        const expected = bytes.slice();
        const sent = call(bytes);
        bytes.fill(0);
        await wire.done(Promise.all([sent, received]));
        expectBytes(target.subarray(0, size), expected);
        expect([...target.subarray(size)]).toEqual(Array(8).fill(0));
      }
    }
  });

  test('a batch sends the contents that a small buffer has at submit()', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const { a, b, toB } = wire;
    const bytes = new Uint8Array(16);
    const batch = a.batch();
    batch.send(bytes, toB);
    for (const value of [1, 2, 3]) {
      bytes.fill(value);
      const target = new Uint8Array(16);
      await wire.done(Promise.all([batch.submit(), b.recv(target)]));
      expect([...target]).toEqual(Array(16).fill(value));
    }
    batch.close();
  });
});

test.for(['efa', 'shm', 'tcp;ofi_rxm'])(
  '%s: small writes of new buffers arrive',
  async (provider, context) => {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_RMA']);
    const { a, b, toB } = wire;
    const region = await b.domain.allocate(4096, ['FI_REMOTE_WRITE']);
    const remote = a.domain.remote(region.descriptor());
    const expected = pattern(4096);
    const writes = Array.from({ length: 64 }, (_, i) => {
      const bytes = expected.slice(i * 64, (i + 1) * 64);
      const flags = ['FI_DELIVERY_COMPLETE'] as const;
      const written = a.write(bytes, toB, remote, { offset: i * 64, flags });
      bytes.fill(0);
      return written;
    });
    await wire.done(Promise.all(writes));
    expectBytes(region.bytes, expected);
  },
);

describe('efa', () => {
  test('sends, receives and streams of up to a packet need no registration', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG', 'FI_TAGGED', 'FI_DIRECTED_RECV']);
    const { a, b, toB, toA } = wire;
    const exchange = async (size: number) => {
      const target = new Uint8Array(size);
      await wire.done(Promise.all([b.recv(target, toA), a.send(pattern(size), toB)]));
      expectBytes(target, pattern(size));
      const tagged = new Uint8Array(size);
      await wire.done(Promise.all([b.trecv(tagged, toA, 1n), a.tsend(pattern(size), toB, 1n)]));
      expectBytes(tagged, pattern(size));
    };
    await exchange(100); // the provider and the package register their own buffers once
    faults.add('registration', { value: 'FI_ENOMEM' });
    for (const size of [1, 64, 192, 193, 1000, 4096, 8192]) await exchange(size);
    const messages = b.messages({ count: 4, size: 4096 });
    await wire.done(a.send(pattern(500), toB));
    const { value } = await messages.next();
    expectBytes(value.bytes, pattern(500));
    await messages.return();
    // Longer messages need a registration, which fails here.
    const error = await wire.fails(a.send(new Uint8Array(MIB), toB));
    expect(error).toMatchObject({ code: 'FI_ENOMEM', message: expect.stringMatching(/fi_mr_reg/) });
    faults.clear();
    await exchange(MIB);
  });

  test('70,000 new buffers of 64 bytes do not block the event loop', {
    retry: 2,
  }, async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG']);
    await stream(wire, 1000, 64);
    const stalls = new Stalls();
    await stream(wire, 70_000, 64);
    expect(stalls.end()).toBeLessThan(STALL_MS);
  });

  test('the engine deregisters longer buffers when the device is out of registrations', () => {
    const program = `
      import { open } from 'libfabric';
      const ep = await open({ provider: 'efa', caps: ['FI_MSG'] });
      const self = ep.av.insert(ep.address);
      const into = await ep.domain.allocate(20_000, ['FI_RECV']);
      const sent = [];
      for (let i = 0; i < 200; i++) {
        const bytes = new Uint8Array(20_000).fill(i);
        sent.push(bytes); // not collected
        await Promise.all([ep.recv(into), ep.send(bytes, self)]);
        if (into.bytes.some((byte) => byte !== i)) throw new Error('message ' + i);
      }
      await ep.close();
      console.log('all');`;
    const { stdout, stderr } = runInline(program, withSoftefa({ maxMr: 60 }));
    expect(stdout, stderr).toBe('all\n');
  });
});

test.for(drivers)('datagrams of new buffers arrive, %s driver', async (driver, context) => {
  const wire = await datagramPair(context, 'efa', driver);
  const before = senderBuffers();
  for (let i = 0; i < 50; i++) {
    const target = new Uint8Array(64);
    const received = wire.b.recv(target);
    await wire.postedByB(i + 1);
    await wire.done(Promise.all([wire.a.send(pattern(64, i + 1), wire.toB), received]));
    expectBytes(target, pattern(64, i + 1));
  }
  expect(senderBuffers() - before).toBeLessThan(2);
});

test('a small resizable buffer is refused', async (context) => {
  const { a, toB } = await pair(context, 'shm', ['FI_MSG']);
  const Resizable = ArrayBuffer as never as new (
    length: number,
    options: { maxByteLength: number },
  ) => ArrayBuffer;
  const bytes = new Uint8Array(new Resizable(16, { maxByteLength: 32 }));
  await expect(a.send(bytes, toB)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_VALUE' });
});

test('the engine reuses the slots of its buffer table', () => {
  const program = `
    import { open } from 'libfabric';
    import { loadOnce } from '${new URL('../../dist/contract/native.js', import.meta.url)}';
    const ep = await open({ provider: 'shm', caps: ['FI_MSG'], driver: 'manual' });
    const { memoryAdopt, memoryForget, domainState } = loadOnce();
    const places = new Set();
    const { engine } = ep.limits;
    for (let i = 0; i < 20_000; i++) {
      const handle = memoryAdopt(engine.handle, new Uint8Array(8));
      if (handle === 0) throw new Error('no handle');
      places.add(handle & 0xfffff);
      memoryForget(engine.handle, handle);
      ep.domain.progress();
    }
    console.log(places.size);
    await ep.close();`;
  const { stdout, stderr } = runInline(program);
  expect(Number(stdout), stderr).toBeLessThan(10);
});
