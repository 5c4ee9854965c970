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

const detach = (bytes: Uint8Array<ArrayBuffer>) =>
  structuredClone(bytes, { transfer: [bytes.buffer] });

describe.each(['register', 'allocate'] as const)('a region of %s()', (method) => {
  const make = () => {
    const rights = ['FI_SEND', 'FI_RECV'] as const;
    if (method === 'allocate') return ep.domain.allocate(4096, rights);
    return ep.domain.register(new Uint8Array(8192).subarray(4096), rights);
  };

  test('has a new buffer over the same memory after its first one was detached', async () => {
    const region = await make();
    region.bytes.fill(3);
    const transferred = detach(region.bytes as Uint8Array<ArrayBuffer>);
    expect(region.bytes).toEqual(new Uint8Array(4096).fill(3));
    expect(region.slice(8, 16).bytes.length).toBe(8);
    const received = ep.recv(region);
    await ep.send(new Uint8Array(4096).fill(4), self);
    await received;
    expect(region.bytes).toEqual(new Uint8Array(4096).fill(4));
    expect(transferred).toEqual(region.bytes);
    await region.close();
    expect(transferred[4095]).toBe(4);
  });

  test('has no buffer after close()', async () => {
    const region = await make();
    detach(region.bytes as Uint8Array<ArrayBuffer>);
    await region.close();
    expect(() => region.bytes).toThrow(/the memory region is closed/);
  });
});

test('a message whose buffer was transferred is unchanged; later messages use other memory', async () => {
  const messages = ep.messages({ count: 2, size: 1024, borrow: true });
  const transferred: Uint8Array[] = [];
  for (let i = 1; i <= 20; i++) {
    await ep.send(new Uint8Array(1024).fill(i), self);
    const { value } = await messages.next();
    transferred.push(detach(value.bytes));
  }
  for (const [i, bytes] of transferred.entries())
    expect(bytes).toEqual(new Uint8Array(1024).fill(i + 1));
  await messages.return();
});

test('a message arrives in a buffer that was transferred while it was posted', async () => {
  const messages = ep.messages({ count: 1, size: 64, borrow: true });
  await ep.send(new Uint8Array(64).fill(1), self);
  const { value: first } = await messages.next();
  const next = messages.next(); // posts the first's buffer again
  detach(first.bytes);
  await ep.send(new Uint8Array(64).fill(2), self);
  expect((await next).value.bytes).toEqual(new Uint8Array(64).fill(2));
  await messages.return();
});

test('a message can be sent from its receive buffer, also after its stream has ended', async () => {
  const messages = ep.messages({ count: 4, size: 64, borrow: true });
  await ep.send(new Uint8Array(64).fill(9), self);
  const { value } = await messages.next();
  await ep.send(value.bytes, self);
  expect((await messages.next()).value.bytes).toEqual(value.bytes);
  await messages.return();
  const into = new Uint8Array(64);
  await exchange(value.bytes, into);
  expect(into).toEqual(new Uint8Array(64).fill(9));
});

test('postMessage() copies a buffer that was used for a transfer', async () => {
  const bytes = new Uint8Array(64).fill(7);
  await exchange(bytes, new Uint8Array(64));
  const { port1, port2 } = new MessageChannel();
  const arrived = once(port2, 'message');
  port1.postMessage(bytes);
  expect((await arrived)[0]).toEqual(bytes);
  port1.close();
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

test('a SharedArrayBuffer can be sent, received into and registered', async () => {
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
