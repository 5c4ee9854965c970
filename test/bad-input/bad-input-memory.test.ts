import { type MemoryRegion, open, Peer, RegionSlice, type RemoteRegion } from 'libfabric';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  expectRejected,
  expectThrown,
  expectWorking,
  loopbackOfFile,
} from '../support/bad-input.js';
import { callVerb, VERBS, verbs } from '../support/verbs.js';

const loopback = loopbackOfFile();
const other = loopbackOfFile();
let region: MemoryRegion;
let remote: RemoteRegion;

beforeAll(async () => {
  region = await loopback.ep.domain.allocate(4096, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
  remote = loopback.ep.domain.remote(region.descriptor());
});

const args = (verb: string) => verbs({ self: loopback.self, region, remote })[verb]!();

/** Replaces each of the named arguments in every call of the endpoint with an invalid value. */
async function expectRefused(
  names: readonly string[],
  value: unknown,
  message: RegExp,
): Promise<void> {
  let count = 0;
  for (const verb of VERBS) {
    for (const name of Object.keys(args(verb)).filter((key) => names.includes(key))) {
      const wrong = name === 'buffers' ? [value] : value;
      await expectRejected(
        () => callVerb(loopback.ep, verb, { ...args(verb), [name]: wrong }),
        message,
      );
      count++;
    }
  }
  expect(count).toBeGreaterThan(5);
  await expectWorking(loopback.ep, loopback.self);
}

const BUFFERS = ['buffer', 'buffers', 'operand', 'compare', 'result'];

function detached(): Uint8Array {
  const bytes = new Uint8Array(8);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

describe('buffers that every call refuses', () => {
  test('a detached view', () => expectRefused(BUFFERS, detached(), /is detached/));
  test('a detached ArrayBuffer', () => expectRefused(BUFFERS, detached().buffer, /is detached/));
  test('a proxy of a view', () =>
    expectRefused(BUFFERS, new Proxy(new Uint8Array(8), {}), /must be/));
  test('an object that only inherits from a view', () =>
    expectRefused(BUFFERS, Object.create(new Uint8Array(8)), /must be/));
});

describe('buffers that only inject calls accept', () => {
  // An inject call copies the bytes at once, so its buffer may be resizable.
  const posted = VERBS.filter((verb) => !verb.includes('nject'));
  const cases: [string, () => unknown, RegExp][] = [
    ['a resizable ArrayBuffer', () => new (ArrayBuffer as Any)(8, { maxByteLength: 16 }), /resiz/],
    [
      'a view of a resizable ArrayBuffer',
      () => new Uint8Array(new (ArrayBuffer as Any)(8, { maxByteLength: 16 })),
      /resiz/,
    ],
    [
      'a growable SharedArrayBuffer',
      () => new (SharedArrayBuffer as Any)(8, { maxByteLength: 16 }),
      /resiz/,
    ],
  ];
  test.each(cases)('%s', async (_name, make, message) => {
    for (const verb of posted) {
      for (const name of Object.keys(args(verb)).filter((key) => BUFFERS.includes(key))) {
        const wrong = name === 'buffers' ? [make()] : make();
        await expectRejected(
          () => callVerb(loopback.ep, verb, { ...args(verb), [name]: wrong }),
          message,
        );
      }
    }
    await expectWorking(loopback.ep, loopback.self);
  });

  test('register() refuses a resizable ArrayBuffer', async () => {
    const buffer = new (ArrayBuffer as Any)(8, { maxByteLength: 16 });
    await expectRejected(() => loopback.ep.domain.register(buffer, ['FI_SEND']), /buffer is resiz/);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: newer than the configured TypeScript library
type Any = any;

describe('regions that every call refuses', () => {
  const REGIONS = ['buffer', 'buffers', 'operand', 'compare', 'result'];
  const posting = /is a region of another domain|must be/;

  test('a region of another domain', async () => {
    const foreign = await other.ep.domain.allocate(8, ['FI_SEND', 'FI_RECV']);
    await expectRefused(REGIONS, foreign, posting);
    await expectRefused(REGIONS, foreign.slice(0, 4), posting);
  });

  test('a closed region and its slices', async () => {
    const closed = await loopback.ep.domain.allocate(8, ['FI_SEND', 'FI_RECV']);
    const slice = closed.slice(2);
    await closed.close();
    await expectRefused(REGIONS, closed, /the memory region is closed|must be/);
    await expectRefused(REGIONS, slice, /the memory region is closed|must be/);
  });

  test('an object that only looks like a region', async () => {
    await expectRefused(REGIONS, Object.create(region), /must be/);
    await expectRefused(REGIONS, new Proxy(region, {}), /must be/);
  });

  test('a forged slice outside its region completes in error', async () => {
    for (const [offset, length] of [
      [0, 8192],
      [4096, 1],
      [-1, 8],
      [Number.NaN, 8],
      [0, 2 ** 60],
    ]) {
      const forged = new RegionSlice(region, offset as number, length as number);
      const error = await expectRejected(() => loopback.ep.send(forged, loopback.self));
      expect(error.code).toBe('FI_EFAULT');
    }
    await expectWorking(loopback.ep, loopback.self);
  });

  test.each([[-1], [4097], [1.5], [Number.NaN], ['0'], [2 ** 53]])(
    'region.slice(%s) throws',
    async (offset) => {
      await expectThrown(() => region.slice(offset as number), /start must be/);
      await expectThrown(() => region.slice(0, offset as number), /end must be/);
      await expectThrown(() => region.slice(8).slice(0, 4089), /end must be/);
    },
  );
});

describe('peers that every call refuses', () => {
  const PEERS = ['peer', 'source'];

  test('a peer of another address vector', async () => {
    await expectRefused(PEERS, other.self, /(peer|source) belongs to another address vector/);
    await expectThrown(
      () => loopback.ep.av.lookup(other.self),
      /belongs to another address vector/,
    );
    await expectRejected(
      () => loopback.ep.av.remove(other.self),
      /belongs to another address vector/,
    );
  });

  test('a removed peer', async () => {
    const peer = loopback.ep.av.insert('fi_shm://nobody');
    await loopback.ep.av.remove(peer);
    expect(peer.removed).toBe(true);
    await expectRefused(PEERS, peer, /(peer|source) was removed/);
    await expectThrown(() => loopback.ep.av.lookup(peer), /was removed/);
    await expectRejected(() => loopback.ep.av.remove(peer), /was removed/);
  });

  test('an object that only looks like a peer', async () => {
    await expectRefused(PEERS, Object.create(loopback.self), /must be a Peer/);
    await expectRefused(PEERS, new Proxy(loopback.self, {}), /must be a Peer/);
    await expectRefused(PEERS, Object.create(Peer.prototype), /must be a Peer/);
  });
});

describe('remote regions that every call refuses', () => {
  test('a remote region of another domain', async () => {
    const foreign = other.ep.domain.remote(region.descriptor());
    await expectRefused(['remote'], foreign, /remote belongs to another domain/);
  });

  test('a closed remote region', async () => {
    const closed = loopback.ep.domain.remote(region.descriptor());
    closed.close();
    await expectRefused(['remote'], closed, /the remote region is closed/);
  });

  test('an object that only looks like a remote region', async () => {
    await expectRefused(['remote'], Object.create(remote), /must be a RemoteRegion/);
    await expectRefused(['remote'], { ...remote }, /must be a RemoteRegion/);
  });

  test('offsets outside the remote region', async () => {
    for (const verb of VERBS.filter((name) => 'remote' in args(name))) {
      const options = args(verb).options as object;
      for (const offset of [4089, 4096, 2 ** 53 - 1]) {
        const wrong = { ...args(verb), options: { ...options, offset } };
        await expectRejected(() => callVerb(loopback.ep, verb, wrong), /offset \+ length must be/);
      }
      for (const offset of [-1, 1.5, Number.NaN, 1n, '0', null, {}]) {
        const wrong = { ...args(verb), options: { ...options, offset } };
        if (offset === null && verb.includes('tomic')) continue;
        await expectRejected(() => callVerb(loopback.ep, verb, wrong), /options\.offset must be/);
      }
    }
    await expectWorking(loopback.ep, loopback.self);
  });
});

test('a domain refuses objects of another domain', async () => {
  const { ep } = loopback;
  const av = other.ep.domain.addressVector();
  const cq = other.ep.domain.completionQueue();
  const own = { av: ep.domain.addressVector(), cq: ep.domain.completionQueue() };
  await expectThrown(() => ep.domain.endpoint(ep.info, { ...own, av }), /belong to this domain/);
  await expectThrown(() => ep.domain.endpoint(ep.info, { ...own, cq }), /belong to this domain/);
  const tcp = await open({ provider: 'tcp', node: '127.0.0.1' });
  await expectThrown(
    () => ep.domain.endpoint(tcp.info, own as never),
    /info belongs to another domain/,
  );
  await tcp.close();
});
