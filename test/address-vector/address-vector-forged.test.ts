// Forged addresses: this package refuses those that would crash or block the provider.
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { arch } from 'node:process';
import { Worker } from 'node:worker_threads';
import { type Endpoint, type EpType, getInfo, open, version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { runProgram } from '../support/lifecycle.js';
import { seed } from '../support/seed.js';
import { settle } from '../support/settle.js';
import { withSoftefa } from '../support/softefa.js';
import { closing, fabricError } from '../support/transfer.js';

const { major } = version();
const efaSharing = { ...withSoftefa(), FI_EFA_ENABLE_SHM_TRANSFER: '1' };

const endpoints: readonly [string, EpType, NodeJS.ProcessEnv?][] = [
  ['shm', 'FI_EP_RDM'],
  ['tcp', 'FI_EP_RDM'],
  ['udp', 'FI_EP_RDM'],
  ['udp', 'FI_EP_DGRAM'],
  ['efa', 'FI_EP_RDM'],
  ['efa', 'FI_EP_RDM', efaSharing],
  ['efa', 'FI_EP_DGRAM'],
];

describe(`addresses that are nearly valid, seed ${seed}`, () => {
  test.for(endpoints)(
    'insert() returns a peer or throws, and sends to every tenth peer settle: %s, %s',
    async ([provider, type, env = {}], context) => {
      context.skip(getInfo({ fabricAttr: { provName: provider }, epAttr: { type } }).length === 0);
      const args = [provider, type, seed, provider === 'shm' ? 960 : 480];
      const { code, signal, stderr, stdout } = await runProgram('forged-addresses', args, { env });
      expect({ code, signal, stderr }, `seed ${seed}`).toEqual({
        code: 0,
        signal: null,
        stderr: '',
      });
      expect(JSON.parse(stdout).got).toEqual([1, 2, 3, 4]);
    },
  );
});

// Counts how often it finds the lock of a region held, until it gets a message to end.
const OBSERVER = `
  const { openSync, readSync } = require('node:fs');
  const { parentPort, workerData: { path, LOCK, HELD, ended } } = require('node:worker_threads');
  const fd = openSync(path, 'r');
  const lock = Buffer.alloc(4);
  let held = 0;
  parentPort.postMessage('began');
  while (Atomics.load(ended, 0) === 0) {
    readSync(fd, lock, 0, 4, LOCK);
    if (lock.readInt32LE(0) === HELD) held++;
  }
  parentPort.postMessage(held);
`;

const shm = async () => closing(await open({ provider: 'shm', caps: ['FI_MSG'] }));
const fileOf = (ep: Endpoint) =>
  Buffer.from(ep.address)
    .toString()
    .replace(/^.*:\/\//, '/dev/shm/')
    .replace('\0', '');

describe('shm', () => {
  test('sends and batches reach a peer that starts after its address was inserted', async () => {
    const ep = await shm();
    const [, beginning, number] = /^(.*:)(\d+)\0$/.exec(Buffer.from(ep.address).toString())!;
    const address = `${beginning}${Number(number) + 1}`;
    // A killed process with the same pid may have left this file.
    rmSync(address.replace(/^.*:\/\//, '/dev/shm/'), { force: true });
    const peer = ep.av.insert(address);
    const batch = ep.batch();
    batch.send(Uint8Array.of(1), peer);
    const sends = [batch.submit(), ep.send(Uint8Array.of(2), peer)];
    const later = await shm();
    const into = [new Uint8Array(1), new Uint8Array(1)] as const;
    await settle(Promise.all(into.map((bytes) => later.recv(bytes))));
    await settle(Promise.all(sends));
    const third = later.recv(into[0]);
    await settle(batch.submit());
    await settle(third);
    expect(into).toEqual([Uint8Array.of(1), Uint8Array.of(2)]);
  });

  test('insert() refuses a region of another version of libfabric', async () => {
    const ep = await shm();
    const path = `/dev/shm/other-version-${process.pid}`;
    const region = readFileSync(fileOf(ep));
    region[0]! += 1;
    writeFileSync(path, region, { mode: 0o600 });
    const refusal = { code: 'FI_EADDRNOTAVAIL', message: expect.stringContaining('version') };
    try {
      expect(() => ep.av.insert(path.replace('/dev/shm/', 'fi_shm://'))).toThrow(
        expect.objectContaining(refusal),
      );
    } finally {
      rmSync(path);
    }
  });

  const unsuitable: Record<string, (path: string, region: string) => void> = {
    folder: (path) => mkdirSync(path),
    link: (path, region) => symlinkSync(region, path),
    'file of ones': (path, region) => writeFileSync(path, Buffer.alloc(statSync(region).size, 255)),
    'truncated region': (path, region) =>
      writeFileSync(path, readFileSync(region).subarray(0, 4096)),
  };
  test.each(Object.entries(unsuitable))('insert() refuses a %s', async (kind, make) => {
    const ep = await shm();
    const path = `/dev/shm/unsuitable-${process.pid}-${kind.replaceAll(' ', '-')}`;
    make(path, fileOf(ep));
    try {
      expect(() => ep.av.insert(path.replace('/dev/shm/', 'fi_shm://'))).toThrow(
        fabricError('FI_EADDRNOTAVAIL'),
      );
    } finally {
      rmSync(path, { recursive: true });
    }
  });

  test('the first send refuses a file that has become invalid', async () => {
    const ep = await shm();
    const path = `/dev/shm/invalid-later-${process.pid}`;
    const peer = ep.av.insert(path.replace('/dev/shm/', 'fi_shm://'));
    const region = readFileSync(fileOf(ep));
    writeFileSync(path, region.subarray(0, 4096), { mode: 0o600 });
    try {
      await expect(ep.send(new Uint8Array(8), peer)).rejects.toMatchObject({
        code: 'FI_EADDRNOTAVAIL',
        message: expect.stringContaining('/dev/shm'),
      });
    } finally {
      rmSync(path);
    }
  });

  // The offset of the lock is known for these versions, and its values for these architectures.
  const hasKnownLock = major * 100 + version().minor <= 204;
  const LOCK = major < 2 ? 24 : 56;
  const HELD = arch === 'x64' ? 0 : 1;

  // A process that is killed while it holds the lock blocks the region forever.
  test.skipIf(!hasKnownLock)('insert() only looks at the lock of a region', async () => {
    const ep = await shm();
    const path = `/dev/shm/looked-at-${process.pid}`;
    writeFileSync(path, readFileSync(fileOf(ep)), { mode: 0o600 });
    const ended = new Int32Array(new SharedArrayBuffer(4));
    const observer = new Worker(OBSERVER, { eval: true, workerData: { path, LOCK, HELD, ended } });
    try {
      await once(observer, 'message');
      for (let i = 0; i < 5000; i++) ep.av.insert(path.replace('/dev/shm/', 'fi_shm://'));
      Atomics.store(ended, 0, 1);
      expect(await once(observer, 'message')).toEqual([0]);
    } finally {
      await observer.terminate();
      rmSync(path);
    }
  });

  test.skipIf(!hasKnownLock)(
    'a send to a region whose lock is held rejects at its timeout',
    async () => {
      const ep = await shm();
      const path = `/dev/shm/held-${process.pid}`;
      const region = readFileSync(fileOf(ep));
      region.writeInt32LE(HELD, LOCK);
      writeFileSync(path, region, { mode: 0o600 });
      try {
        const peer = ep.av.insert(path.replace('/dev/shm/', 'fi_shm://'));
        await expect(ep.send(new Uint8Array(8), peer, { timeout: 50 })).rejects.toMatchObject({
          code: 'FI_ETIMEDOUT',
        });
      } finally {
        rmSync(path);
      }
    },
  );
});
