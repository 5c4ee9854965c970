// Statements of docs/provider-limits.md about shm. The name of a test is the statement.
import { version } from 'libfabric';
import { expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { closing, endpoint, fabricError, pair } from '../support/transfer.js';

const { major, minor } = version();
const since26 = major > 1 && minor >= 6;
const LARGE = 100_000;
/** ms after which a pending operation is expected never to complete. */
const SOON = 300;

test('shm has room for 256 peers over the lifetime of an address vector', async (context) => {
  const { av } = closing(await endpoint(context, 'shm', ['FI_MSG']));
  const named = (i: number) => Buffer.from(`fi_shm://4000000:${i}\0`);
  const peers = Array.from({ length: 256 }, (_, i) => av.insert(named(i)));
  expect(() => av.insert(named(256))).toThrow(fabricError('FI_EADDRNOTAVAIL') as Error);
  expect(() => av.insert(named(256))).toThrow('has room for 256 peers over its life');
  await expect(av.insertMany([named(256)])).rejects.toThrow('has room for 256 peers over its life');
  const [first] = peers;
  if (first) await av.remove(first);
  expect(() => av.insert(named(256))).toThrow(fabricError('FI_EADDRNOTAVAIL') as Error);
});

test('shm of 1.17 reports the first peer of the vector as the source of an unknown sender’s message', async (context) => {
  const caps = ['FI_MSG', 'FI_SOURCE'] as const;
  const sender = await endpoint(context, 'shm', caps);
  const other = await endpoint(context, 'shm', caps);
  const receiver = await endpoint(context, 'shm', caps);
  const first = receiver.av.insert(other.address);
  const received = receiver.recv(new Uint8Array(8));
  await sender.send(pattern(8), sender.av.insert(receiver.address));
  expect((await received).source).toBe(major < 2 ? first : undefined);
});

// 1.17 and 2.1 refuse the write without a report, and 2.1 then receives nothing more. 2.6 completes it as
// successful.
test('shm never completes a write to an unmapped address; 2.6 completes it as successful', async (context) => {
  const { a, b, toB } = await pair(context, 'shm', ['FI_MSG', 'FI_RMA']);
  const { key } = await b.domain.allocate(4096, ['FI_REMOTE_WRITE']);
  const remote = a.domain.remote({ key, address: 4096n, length: LARGE });
  const outcome = (operation: Promise<unknown>) =>
    operation.then(
      () => 'done',
      (error) => error.code,
    );
  const written = a.write(pattern(LARGE), toB, remote, { timeout: SOON });
  expect(await outcome(written)).toBe(since26 ? 'done' : 'FI_ETIMEDOUT');
  const received = b.recv(new Uint8Array(64), null, { timeout: 2 * SOON });
  a.send(pattern(64), toB).catch(() => {});
  expect(await outcome(received)).toBe(major < 2 || since26 ? 'done' : 'FI_ETIMEDOUT');
});
