import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { type Endpoint, open, type Peer } from 'libfabric';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let ep: Endpoint<'FI_EP_RDM', 'FI_MSG' | 'FI_RMA'>;
let self: Peer;

beforeAll(async () => {
  ep = await open({ provider: 'shm', caps: ['FI_MSG', 'FI_RMA'] });
  self = ep.av.insert(ep.address);
});
afterAll(() => ep.close());

async function exchange(from: Uint8Array, into: Uint8Array): Promise<void> {
  const received = ep.recv(into);
  await ep.send(from, self);
  await received;
}

const moves: [string, (buffer: ArrayBuffer) => unknown][] = [
  ['structuredClone(transfer)', (buffer) => structuredClone(buffer, { transfer: [buffer] })],
  [
    'postMessage(transfer)',
    (buffer) => {
      const { port1, port2 } = new MessageChannel();
      try {
        port1.postMessage(buffer, [buffer]);
      } finally {
        port1.close();
        port2.close();
      }
    },
  ],
];
// Node 22 and later.
for (const method of ['transfer', 'transferToFixedLength'] as const) {
  if (!(method in ArrayBuffer.prototype)) continue;
  const call = (buffer: ArrayBuffer) => (buffer as never as Record<string, () => void>)[method]!();
  moves.push([`ArrayBuffer.prototype.${method}`, call]);
}

describe.each(moves)('%s', (_, move) => {
  test('cannot take away the memory of a receive that is posted', async () => {
    const bytes = new Uint8Array(64);
    const received = ep.recv(bytes);
    try {
      move(bytes.buffer);
    } catch {
      // Refused, or copied: either will do.
    }
    expect(bytes.length).toBe(64);
    await ep.send(new Uint8Array(64).fill(5), self);
    await received;
    expect(bytes.every((byte) => byte === 5)).toBe(true);
  });

  test('cannot take away memory that was used before', async () => {
    const bytes = new Uint8Array(64).fill(6);
    await exchange(bytes, new Uint8Array(64));
    try {
      move(bytes.buffer);
    } catch {
      // As above.
    }
    expect(bytes.length).toBe(64);
    const into = new Uint8Array(64);
    await exchange(bytes, into);
    expect(into).toEqual(bytes);
  });

  test('cannot take away registered or allocated memory', async () => {
    const bytes = new Uint8Array(4096);
    const regions = [
      await ep.domain.register(bytes, ['FI_SEND']),
      await ep.domain.allocate(4096, ['FI_SEND']),
    ];
    for (const region of regions) {
      try {
        move(region.buffer as ArrayBuffer);
      } catch {
        // As above.
      }
      expect(region.bytes.length).toBe(4096);
      await region.close();
    }
  });
});

test('a copy of a used buffer may be sent elsewhere', async () => {
  const bytes = new Uint8Array(64).fill(7);
  await exchange(bytes, new Uint8Array(64));
  const { port1, port2 } = new MessageChannel();
  const arrived = once(port2, 'message');
  port1.postMessage(bytes);
  expect((await arrived)[0]).toEqual(bytes);
  port1.close();
  const copy = bytes.slice();
  structuredClone(copy.buffer, { transfer: [copy.buffer] });
  expect(copy.length).toBe(0);
});

test('a detached buffer is refused', async () => {
  const bytes = new Uint8Array(64);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  for (const buffer of [bytes.buffer]) {
    await expect(ep.recv(buffer)).rejects.toThrow(/detached/);
    await expect(ep.send(buffer, self)).rejects.toThrow(/detached/);
    await expect(ep.domain.register(buffer, ['FI_SEND'])).rejects.toThrow(/detached/);
  }
});

test('resizable and growable buffers are refused', async () => {
  const Resizable = ArrayBuffer as new (length: number, options: object) => ArrayBuffer;
  const Growable = SharedArrayBuffer as new (length: number, options: object) => SharedArrayBuffer;
  const options = { maxByteLength: 128 };
  for (const buffer of [new Resizable(64, options), new Growable(64, options)]) {
    for (const form of [buffer, new Uint8Array(buffer), new DataView(buffer, 8, 8)]) {
      const refused = expect.objectContaining({ message: expect.stringContaining('resizable') });
      await expect(ep.recv(form)).rejects.toEqual(refused);
      await expect(ep.send(form, self)).rejects.toEqual(refused);
      await expect(ep.domain.register(form, ['FI_SEND'])).rejects.toEqual(refused);
    }
  }
});

test('shared memory can be sent and received into', async () => {
  const from = new Uint8Array(new SharedArrayBuffer(4096)).fill(8);
  const into = new Uint8Array(new SharedArrayBuffer(4096));
  await exchange(from, into);
  expect(into.every((byte) => byte === 8)).toBe(true);
  const region = await ep.domain.register(from, ['FI_WRITE', 'FI_REMOTE_READ']);
  const read = new Uint8Array(4096);
  await ep.read(read, self, ep.domain.remote(region.descriptor()));
  expect(read.every((byte) => byte === 8)).toBe(true);
  await region.close();
});
