// Addresses that a peer has made up: the provider must not meet what it cannot stand.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { arch } from 'node:process';
import { type Endpoint, type EpType, getInfo, open, version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { run } from '../support/lifecycle.js';
import { withSoftefa } from '../support/softefa.js';
import { closing, settle } from '../support/transfer.js';

const seed = Number(process.env.LIBFABRIC_TEST_SEED ?? Date.now() % 2 ** 31);
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

describe(`addresses that are nearly right, seed ${seed}`, () => {
  test.for(endpoints)(
    'end in a peer or an error, and sends to one in ten settle: %s, %s',
    async ([provider, type, env = {}], context) => {
      context.skip(getInfo({ fabricAttr: { provName: provider }, epAttr: { type } }).length === 0);
      const args = [provider, type, seed, provider === 'shm' ? 960 : 480];
      const { code, signal, stderr, stdout } = await run('forged-addresses', args, { env });
      expect({ code, signal, stderr }, `seed ${seed}`).toEqual({
        code: 0,
        signal: null,
        stderr: '',
      });
      expect(JSON.parse(stdout).got).toEqual([1, 2, 3, 4]);
    },
  );
});

const shm = async () => closing(await open({ provider: 'shm', caps: ['FI_MSG'] }));
const fileOf = (ep: Endpoint) =>
  Buffer.from(ep.address)
    .toString()
    .replace(/^.*:\/\//, '/dev/shm/')
    .replace('\0', '');

describe('shm', () => {
  test('a peer that starts after its address was inserted is reached, by sends and by batches', async () => {
    const ep = await shm();
    const [, beginning, number] = /^(.*:)(\d+)\0$/.exec(Buffer.from(ep.address).toString())!;
    const address = `${beginning}${Number(number) + 1}`;
    // A process of this pid that was killed may have left it.
    rmSync(address.replace(/^.*:\/\//, '/dev/shm/'), { force: true });
    const peer = ep.av.insert(address);
    const batch = ep.batch();
    batch.send(Uint8Array.of(1), peer);
    const twice = [batch.submit(), ep.send(Uint8Array.of(2), peer)];
    const later = await shm();
    const into = [new Uint8Array(1), new Uint8Array(1)] as const;
    await settle(Promise.all(into.map((bytes) => later.recv(bytes))));
    await settle(Promise.all(twice));
    const third = later.recv(into[0]);
    await settle(batch.submit());
    await settle(third);
    expect(into).toEqual([Uint8Array.of(1), Uint8Array.of(2)]);
  });

  test('a region that another version of libfabric has made is refused', async () => {
    const ep = await shm();
    const path = `/dev/shm/other-version-${process.pid}`;
    const region = readFileSync(fileOf(ep));
    region[0]! += 1;
    writeFileSync(path, region, { mode: 0o600 });
    const refused = { code: 'FI_EADDRNOTAVAIL', message: expect.stringContaining('version') };
    try {
      expect(() => ep.av.insert(path.replace('/dev/shm/', 'fi_shm://'))).toThrow(
        expect.objectContaining(refused),
      );
    } finally {
      rmSync(path);
    }
  });

  test('a file that becomes unfit before the first send is refused then', async () => {
    const ep = await shm();
    const path = `/dev/shm/unfit-later-${process.pid}`;
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

  // Their lock is where it is known, and its values on these processors.
  test.skipIf(major * 100 + version().minor > 204)(
    'a send to a region whose lock is held waits for its timeout and no longer',
    async () => {
      const ep = await shm();
      const path = `/dev/shm/held-${process.pid}`;
      const region = readFileSync(fileOf(ep));
      const held = arch === 'x64' ? 0 : 1;
      region.writeInt32LE(held, major < 2 ? 24 : 56);
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
