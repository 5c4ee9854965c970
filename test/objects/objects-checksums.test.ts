// libfabric/objects: checksums of both sides, and what happens if they differ.
import { createHash } from 'node:crypto';
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { native } from '../../dist/contract/native.js';
import { pattern, same } from '../support/bytes.js';
import { MIB, serve, TCP, temporaryIn } from '../support/object-stores.js';

/** Bit by bit, by the definition. */
function crcOf(bytes: Uint8Array): bigint {
  let rest = 0xffff_ffff_ffff_ffffn;
  for (const byte of bytes) {
    rest ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit++)
      rest = (rest >> 1n) ^ ((rest & 1n) === 1n ? 0x9a6c_9329_ac4b_c9b5n : 0n);
  }
  return rest ^ 0xffff_ffff_ffff_ffffn;
}

const inBase64 = (crc: bigint) =>
  Buffer.from(crc.toString(16).padStart(16, '0'), 'hex').toString('base64');

describe('CRC-64/NVME', () => {
  test('has the value of its definition, with and without instructions for it', async () => {
    expect(native.crc64Now(Buffer.from('123456789'), 0n)).toBe(0xae8b_1486_0a79_9888n);
    for (let length = 0; length < 300; length++) {
      const bytes = pattern(length + 3, length).subarray(3); // not aligned
      const crc = crcOf(bytes);
      expect(native.crc64Now(bytes, 0n), `${length} bytes`).toBe(crc);
      expect(native.crc64Portable(bytes, 0n), `${length} bytes`).toBe(crc);
    }
    const long = pattern(MIB + 13);
    expect(native.crc64Now(long, 0n)).toBe(native.crc64Portable(long, 0n));
    expect(await native.crc64(long, 0n)).toBe(native.crc64Portable(long, 0n));
  });

  test('that of two parts follows from those of the parts', () => {
    const bytes = pattern(10_000);
    const all = native.crc64Now(bytes, 0n);
    for (const at of [0, 1, 8, 127, 128, 5000, 9999, 10_000]) {
      const [first, second] = [bytes.subarray(0, at), bytes.subarray(at)];
      const [a, b] = [native.crc64Now(first, 0n), native.crc64Now(second, 0n)];
      expect(native.crc64Combine(a, b, second.length)).toBe(all);
      expect(native.crc64Now(second, a)).toBe(all);
    }
  });
});

const names = { crc64nvme: 'x-amz-checksum-crc64nvme', sha256: 'x-amz-checksum-sha256' } as const;

test.each(['crc64nvme', 'sha256'] as const)(
  'a PUT whose %s does not match stores nothing',
  async (algorithm) => {
    const { root, folder, url } = await serve(undefined);
    const body = pattern(100_000);
    const put = (value: string) =>
      fetch(`${url}/b/object`, { method: 'PUT', body, headers: { [names[algorithm]]: value } });
    const right =
      algorithm === 'sha256'
        ? createHash('sha256').update(body).digest('base64')
        : inBase64(crcOf(body));
    const wrong = algorithm === 'sha256' ? createHash('sha256').digest('base64') : inBase64(1n);
    for (const value of [wrong, 'x', '', right.slice(1)]) {
      const response = await put(value);
      expect([value, response.status]).toEqual([value, 400]);
      const code = value === wrong ? 'BadDigest' : 'InvalidRequest';
      expect(await response.text()).toContain(`<Code>${code}</Code>`);
    }
    expect((await fetch(`${url}/b/object`)).status).toBe(404);
    const stored = await put(right);
    expect([stored.status, stored.headers.get(names[algorithm])]).toEqual([200, right]);
    const got = await fetch(`${url}/b/object`, { headers: { 'x-amz-checksum-mode': 'ENABLED' } });
    expect(got.headers.get(names[algorithm])).toBe(right);
    expect(readFileSync(join(folder, 'object')).length).toBe(body.length);
    expect(temporaryIn(root)).toEqual([]);
  },
);

describe.each([
  ['HTTP', undefined],
  ['tcp', TCP],
] as const)('over %s', (_, fabric) => {
  test('a client notices bytes that changed on the disk after the PUT', async () => {
    const { folder, connect } = await serve(fabric, { pieceSize: MIB });
    const client = await connect();
    for (const size of [1000, 12 * MIB]) {
      const bytes = pattern(size);
      await client.put('object', bytes, { checksum: 'crc64nvme' });
      const path = join(folder, 'object');
      const microseconds = Number(statSync(path, { bigint: true }).mtimeNs / 1000n);
      const changed = Uint8Array.from(bytes);
      changed[size - 1] = (changed[size - 1] as number) ^ 1;
      writeFileSync(path, changed);
      const seconds = (microseconds + 0.5) / 1e6; // Node.js rounds down
      utimesSync(path, seconds, seconds);
      const damaged = { code: 'BadDigest', key: 'object' };
      await expect(client.get('object', { checksum: 'crc64nvme' })).rejects.toMatchObject(damaged);
      const { bytes: unchecked } = await client.get('object');
      expect(same(unchecked, changed)).toBe(true);
    }
  });

  test('a client that is sent other bytes than the server has read notices it', async () => {
    const { connect } = await serve(fabric);
    const plain = await connect();
    await plain.put('object', pattern(1000));
    const lying: typeof fetch = async (...args) => {
      const response = await fetch(...args);
      const bytes = new Uint8Array(await response.arrayBuffer());
      if (bytes.length === 1000) bytes[5] = (bytes[5] as number) ^ 1;
      return new Response(bytes, { status: response.status, headers: response.headers });
    };
    const client = await connect({ engine: undefined, fetch: lying } as never);
    await expect(client.get('object', { checksum: 'crc64nvme' })).rejects.toMatchObject({
      code: 'BadDigest',
    });
    await expect(client.get('object', { checksum: 'sha256' })).rejects.toMatchObject({
      code: 'BadDigest',
    });
  });
});

test('checksums are computed off the event loop', async () => {
  const { folder, url } = await serve(undefined);
  writeFileSync(join(folder, 'object'), Buffer.alloc(64 * MIB, 3));
  for (const algorithm of ['crc64nvme', 'sha256']) {
    let turns = 0;
    let isOver = false;
    const head = { 'x-libfabric-checksum': algorithm, 'x-libfabric-inline': String(64 * MIB) };
    const asking = fetch(`${url}/b/object`, { headers: head }).then(async (response) => {
      isOver = true;
      await response.body?.cancel();
      return response.headers.get('x-libfabric-checksum');
    });
    while (!isOver) {
      await new Promise(setImmediate);
      turns += 1;
    }
    expect(await asking).toContain(`${algorithm}=`);
    expect(turns).toBeGreaterThan(10);
  }
});
