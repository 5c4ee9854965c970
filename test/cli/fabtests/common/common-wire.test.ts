// The bytes that this package exchanges with fabtests. A scripted peer acts as fabtests.

import { expect, test } from 'vitest';
import { OobSocket } from '../../../../dist/cli/fabtests/common/oob.js';
import { fillPattern, pattern } from '../../../../dist/cli/fabtests/common/pattern.js';
import { encodeAddress, peerInfoIn } from '../../../../dist/cli/fabtests/common/peer-info.js';
import { decodeKeys, encodeKeys } from '../../../../dist/cli/fabtests/common/rma.js';
import { start } from '../../../support/command.js';
import { freePort } from '../../../support/free-port.js';
import { cleanups, padded, rawEndpoint } from '../../../support/wire.js';

test('1.17, client: 256 bytes with the address, then messages with tags from 0', async () => {
  const port = await freePort();
  const ep = await rawEndpoint('shm', ['FI_TAGGED']);
  const accepted = OobSocket.accept(port, '127.0.0.1');
  const client = start([
    ...['rdm-tagged-pingpong', '-p', 'shm', `-b=${port}`, '--fabtests', '1.17'],
    ...['-S', '100', '-w', '1', '-I', '2', '-v', '127.0.0.1'],
  ]);
  const oob = await accepted;
  cleanups.push(() => oob.close());
  const message = await oob.receive(256);
  const peer = ep.av.insert(message.subarray(0, message.indexOf(0) + 1));
  expect(peerInfoIn(message)).toEqual({ release: '1.17', port: 0, messageBytes: 256, token: 0n });
  oob.send(padded(ep.address, 256));
  expect(await oob.receive(1)).toEqual(Buffer.from('a'));
  oob.send(Buffer.from('x'));
  for (const tag of [0, 1, 2]) {
    const bytes = new Uint8Array(256);
    const { length } = await ep.trecv(bytes, null, tag);
    expect([length, Buffer.from(bytes.subarray(0, 100))]).toEqual([100, pattern(100)]);
    await ep.tsend(new Uint8Array(pattern(100)), peer, tag);
  }
  // At the end, both send 4 bytes with the next tag.
  const last = ep.trecv(new Uint8Array(256), null, 3);
  await ep.tsend(new Uint8Array(4), peer, 3);
  expect((await last).length).toBe(4);
  expect((await client.ended).stdout).toMatch(/\n100 +2 +400 /);
});

test('--nics is refused if the peer is one of fabtests', async () => {
  const port = await freePort();
  const ep = await rawEndpoint('shm', ['FI_MSG']);
  const accepted = OobSocket.accept(port, '127.0.0.1');
  const client = start([
    ...['rma-bw', '-p', 'shm', `-E=${port}`, '--fabtests', '1.17', '--nics', 'all', '127.0.0.1'],
  ]);
  const oob = await accepted;
  cleanups.push(() => oob.close());
  await oob.receive(256);
  oob.send(padded(ep.address, 256));
  const { code, stderr } = await client.ended;
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('--nics: fabtests use one NIC'),
  });
});

test('2.x, server: answers a handshake of four zeros, whatever its own release', async () => {
  const port = await freePort();
  const server = start([
    'rdm-pingpong',
    '-p',
    'shm',
    `-b=${port}`,
    '-S',
    '8',
    '-I',
    '1',
    '-w',
    '0',
  ]);
  const ep = await rawEndpoint('shm', ['FI_MSG']);
  const oob = await OobSocket.connect(port, '127.0.0.1', 20_000);
  cleanups.push(() => oob.close());
  oob.send(Buffer.alloc(4));
  expect(await oob.receive(4)).toEqual(Buffer.alloc(4));
  oob.send(padded(ep.address));
  const message = await oob.receive(1024);
  const peer = ep.av.insert(message.subarray(0, message.indexOf(0) + 1));
  oob.send(Buffer.from('a'));
  expect(await oob.receive(1)).toEqual(Buffer.from('a'));
  const bytes = new Uint8Array(256);
  const reply = ep.recv(bytes);
  await ep.send(new Uint8Array(8), peer);
  expect((await reply).length).toBe(8);
  // Since 2.4, -b also ends out of band: four zeros in each direction.
  oob.send(Buffer.alloc(4));
  expect(await oob.receive(4)).toEqual(Buffer.alloc(4));
  expect((await server.ended).code).toBe(0);
});

/** Acts as the server of a client that connects out of band: handshake, then addresses. */
async function acceptClient(
  args: readonly string[],
  ep: Awaited<ReturnType<typeof rawEndpoint>>,
  letter: 'b' | 'E',
) {
  const port = await freePort();
  const accepted = OobSocket.accept(port, '127.0.0.1');
  const client = start([...args, `-${letter}=${port}`, '--fabtests', '2.6', '127.0.0.1']);
  const oob = await accepted;
  cleanups.push(() => oob.close());
  expect(await oob.receive(4)).toEqual(Buffer.alloc(4));
  oob.send(Buffer.alloc(4));
  return { client, oob, peer: await exchangeOobAddresses(oob, ep) };
}

async function exchangeOobAddresses(oob: OobSocket, ep: Awaited<ReturnType<typeof rawEndpoint>>) {
  const message = await oob.receive(1024);
  oob.send(padded(ep.address));
  return ep.av.insert(message.subarray(0, message.indexOf(0) + 1));
}

test('2.x, av-xfer: repeats the handshake for its second part, which has its own endpoint', async () => {
  const ep = await rawEndpoint('shm', ['FI_MSG']);
  const { client, oob, peer } = await acceptClient(['av-xfer', '-p', 'shm'], ep, 'b');
  const receive = async () => expect((await ep.recv(new Uint8Array(1024))).length).toBe(1024);
  const sync = async () => {
    expect(await oob.receive(1)).toEqual(Buffer.from('a'));
    oob.send(Buffer.from('a'));
  };
  await receive();
  await ep.av.remove(peer);
  await sync();
  await ep.send(new Uint8Array(1024), await exchangeOobAddresses(oob, ep));
  await sync();
  oob.send(Buffer.alloc(4));
  expect(await oob.receive(4)).toEqual(Buffer.alloc(4));
  for (let part = 0; part < 2; part++) {
    await exchangeOobAddresses(oob, ep);
    await receive();
    await sync();
  }
  expect(await client.ended).toMatchObject({ code: 0, stderr: '' });
});

test('2.x, multi-ep: keys, an empty message, a write, an empty message; repeated with other keys', async () => {
  const main = await rawEndpoint('shm', ['FI_MSG', 'FI_RMA']);
  const ep = await rawEndpoint('shm', ['FI_MSG', 'FI_RMA']);
  const args = ['multi-ep', '-p', 'shm', '-c', '1', '-v'];
  const { client, oob, peer: first } = await acceptClient(args, main, 'E');
  const peer = await exchangeOobAddresses(oob, ep);
  const exchange = async (bytes: Uint8Array) => {
    const room = new Uint8Array(256);
    const received = ep.recv(room);
    await ep.send(bytes, peer);
    return room.subarray(0, (await received).length);
  };
  for (let round = 0; round < 2; round++) {
    const region = await ep.domain.allocate(256, ['FI_REMOTE_WRITE']);
    const keys = await exchange(encodeKeys(region));
    expect(keys).toHaveLength(24);
    expect(await exchange(new Uint8Array(0))).toHaveLength(0);
    await ep.write(Buffer.from(pattern(256)), peer, ep.domain.remote(decodeKeys(keys, 256)));
    expect(await exchange(new Uint8Array(0))).toHaveLength(0);
    expect(Buffer.from(region.bytes)).toEqual(pattern(256));
  }
  // The final message uses the endpoint of the first address exchange.
  const last = main.recv(new Uint8Array(256));
  await main.send(new Uint8Array(4), first);
  expect((await last).length).toBe(4);
  expect(await client.ended).toMatchObject({ code: 0, stderr: '' });
});

test('2.x, rma-pingpong: reads after the slots of a window, each of at least 1024 bytes', async () => {
  const ep = await rawEndpoint('shm', ['FI_MSG', 'FI_RMA']);
  const args = ['rma-pingpong', '-p', 'shm', '-o', 'read', '-S', '100', '-W', '4', '-I', '2', '-v'];
  const { client, peer } = await acceptClient(args, ep, 'E');
  const sync = async () => {
    expect((await ep.recv(new Uint8Array(256))).length).toBe(0);
    await ep.send(new Uint8Array(0), peer);
  };
  // Receive buffers have 4 * 1024 bytes and 4 more, rounded up to a multiple of 64. Send buffers follow them.
  const region = await ep.domain.allocate(2 * 4160, ['FI_REMOTE_READ']);
  region.bytes.set(pattern(100), 4160);
  const keysReceived = ep.recv(new Uint8Array(256));
  await ep.send(encodeKeys(region), peer);
  expect((await keysReceived).length).toBe(24);
  for (const _ of ['keys', 'before the reads', 'after the reads']) await sync();
  expect((await ep.recv(new Uint8Array(256))).length).toBe(4);
  await ep.send(new Uint8Array(4), peer);
  expect(await client.ended).toMatchObject({ code: 0, stderr: '' });
});

test('2.x, rdm-atomic -v: starts with the letter 0, and synchronizes before and after every operation', async () => {
  const ep = await rawEndpoint('shm', ['FI_MSG', 'FI_ATOMIC']);
  const args = ['rdm-atomic', '-p', 'shm', '-o', 'sum', '-z', 'int32', '-I', '2', '-v'];
  const { client, peer } = await acceptClient(args, ep, 'E');
  const sync = async () => {
    expect((await ep.recv(new Uint8Array(256))).length).toBe(0);
    await ep.send(new Uint8Array(0), peer);
  };
  const region = await ep.domain.allocate(64, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
  const keys = new Uint8Array(256);
  const keysReceived = ep.recv(keys);
  await ep.send(encodeKeys(region), peer);
  expect((await keysReceived).length).toBe(24);
  const remote = ep.domain.remote(decodeKeys(keys, 64));
  await sync();
  const sum = { datatype: 'FI_INT32', op: 'FI_SUM' } as const;
  for (let round = 0; round < 2; round++) {
    region.bytes[0] = 48;
    await sync();
    await ep.atomic(Buffer.from([48, 0, 0, 0]), peer, remote, sum);
    await sync();
    expect(Buffer.from(region.bytes.subarray(0, 4))).toEqual(Buffer.from([96, 0, 0, 0]));
  }
  for (const _ of ['after the pair', 'after all pairs']) await sync();
  expect((await ep.recv(new Uint8Array(256))).length).toBe(4);
  await ep.send(new Uint8Array(4), peer);
  expect((await client.ended).stdout).toContain('2 times each, came to the right results');
});

test('2.x, unexpected-msg: addresses in messages, then 4 messages of 128 bytes, received in reverse order', async () => {
  const ep = await rawEndpoint('shm', ['FI_TAGGED']);
  const args = ['unexpected-msg', '-p', 'shm', '-I', '2', '-v'];
  const { client, oob, peer } = await acceptClient(args, ep, 'E');
  const sync = async () => {
    expect(await oob.receive(1)).toEqual(Buffer.from('a'));
    oob.send(Buffer.from('a'));
  };
  await sync();
  for (const tag of [0, 1]) {
    const address = new Uint8Array(256);
    const { length } = await ep.trecv(address, null, tag);
    expect(ep.av.insert(address.subarray(0, length))).toBe(peer);
  }
  await ep.tsend(new Uint8Array(1), peer, 0);
  const tags = [0x1234, 0x1235, 0x1236, 0x1237];
  for (let iteration = 0; iteration < 2; iteration++) {
    const sends = tags.map((tag) => ep.tsend(Buffer.from(pattern(128)), peer, tag));
    await sync();
    for (const tag of tags.toReversed()) {
      const bytes = new Uint8Array(1024);
      const { length } = await ep.trecv(bytes, null, tag);
      expect(Buffer.from(bytes.subarray(0, length))).toEqual(pattern(128));
    }
    await Promise.all(sends);
  }
  await sync();
  expect((await client.ended).stdout).toContain('2 times 4 messages of 128 bytes');
});

test('pingpong: big-endian lengths, address formats as numbers of libfabric, strings with NUL', async () => {
  const port = await freePort();
  const accepted = OobSocket.accept(port, '127.0.0.1');
  const ep = await rawEndpoint('tcp', ['FI_MSG']);
  const client = start([
    'pingpong',
    '-p',
    'tcp',
    '-e',
    'rdm',
    '-P',
    String(port),
    '-S',
    '16',
    '127.0.0.1',
    '-I',
    '1',
    '-c',
  ]);
  const oob = await accepted;
  cleanups.push(() => oob.close());
  const head = Buffer.from([0, 0, 0, ep.address.length, 2, 0, 0, 0]);
  oob.send(Buffer.concat([head, ep.address]));
  expect(await oob.receive(8)).toEqual(head);
  const peer = ep.av.insert(await oob.receive(ep.address.length));
  expect(await oob.receive(2)).toEqual(Buffer.from('q\0'));
  const bytes = new Uint8Array(64);
  const received = ep.recv(bytes);
  oob.send(Buffer.from('a\0'));
  expect((await received).length).toBe(16);
  expect(Buffer.from(bytes.subarray(0, 16))).toEqual(pattern(16));
  await ep.send(new Uint8Array(pattern(16)), peer);
  expect(await oob.receive(10)).toEqual(Buffer.concat([Buffer.from('1')], 10));
  oob.send(Buffer.from('cnt ok\0'));
  const fin = ep.recv(bytes);
  await ep.send(Buffer.from('fin\0'), peer);
  expect((await fin).length).toBe(4);
  expect(Buffer.from(bytes.subarray(0, 4))).toEqual(Buffer.from('fin\0'));
  expect((await client.ended).code).toBe(0);
});

test('the pattern repeats 62 characters', () => {
  const bytes = new Uint8Array(130);
  fillPattern(bytes);
  expect(Buffer.from(bytes).toString()).toMatch(
    /^0123456789abc.*xyzABC.*XYZ0123456789.*XYZ012345$/,
  );
});

test('information about the sender follows the address; messages of fabtests do not have it', () => {
  const info = { release: '2.6', port: 1234, messageBytes: 1024, token: 5n };
  const message = encodeAddress(Buffer.from('address'), info);
  expect(message).toHaveLength(1024);
  expect(message.subarray(0, 9).toString()).toBe('address\0\0');
  expect(peerInfoIn(message.subarray(0, 256))).toEqual(info);
  expect(peerInfoIn(Buffer.alloc(256))).toBeUndefined();
  expect(peerInfoIn(Buffer.alloc(1))).toBeUndefined();
});
