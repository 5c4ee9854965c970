// A peer that breaks the protocol of messages: nothing is allocated for what it claims, and each call gets a code.
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { meet } from '../../dist/net/connect.js';
import { connect, type MessageSocket } from '../../dist/net/index.js';
import { Kind } from '../../dist/net/message-writer.js';
import { Mode, type StreamOwner } from '../../dist/net/stream.js';
import { TransferEngine } from '../../dist/transfer/index.js';
import { HOST, serve } from '../support/net-pair.js';

const MAX = 65_536; // bytes of a message

let engine: TransferEngine;
let other: TransferEngine;

beforeAll(async () => {
  const options = { provider: 'tcp', node: HOST };
  [engine, other] = [await TransferEngine.open(options), await TransferEngine.open(options)];
  return async () => {
    await engine.close();
    await other.close();
  };
});

function record(kind: number, content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content as string);
  const header = Buffer.alloc(4);
  header.writeUInt32LE(((kind << 30) | bytes.length) >>> 0);
  return Buffer.concat([header, bytes]);
}

/** A socket with an engine, whose peer sends these bytes after the record of its own engine. */
async function receiverOf(...records: Buffer[]): Promise<MessageSocket> {
  const [server, port] = await serve({ engine, maxMessageLength: MAX });
  const accepted = once(server, 'messages') as Promise<[MessageSocket]>;
  const control = connectTcp(port, HOST);
  await once(control, 'connect');
  const session = await meet(control, {}, 5000);
  session.start();
  const nothing = () => {};
  const owner: StreamOwner = {
    accepted: () => session.write(stream, Buffer.concat(sent), 0),
    ...{ readable: nothing, writable: nothing, refused: nothing, reset: nothing },
    ...{ lost: nothing, fellBack: nothing, lostNic: nothing },
  };
  const sent = [record(Kind.Engine, other.address), ...records];
  const stream = session.open(owner, Mode.Messages);
  const [socket] = await accepted;
  onTestFinished(() => {
    socket.destroy();
    control.destroy();
  });
  return socket;
}

const offer = (length: unknown, token: unknown = 'x') =>
  record(Kind.Offer, JSON.stringify([length, token]));

const calls: [string, (socket: MessageSocket) => Promise<unknown>][] = [
  ['receive()', (socket) => socket.receive()],
  ['receiveInto()', async (socket) => socket.receiveInto(await engine.allocate(4096))],
  ['for await', async (socket) => socket[Symbol.asyncIterator]().next()],
];

const records: [string, Buffer, string][] = [
  ['an offer of 4 GiB', offer(2 ** 32), 'EMSGSIZE'],
  ['an offer that is longer by a byte than maxMessageLength', offer(MAX + 1), 'EMSGSIZE'],
  ['an offer with a malformed token', offer(100), 'EPROTO'],
  ['an offer without bytes', offer(0), 'EPROTO'],
  ['an offer of -1 bytes', offer(-1), 'EPROTO'],
  ['an offer of half a byte', offer(0.5), 'EPROTO'],
  ['an offer whose length is a text', offer('100'), 'EPROTO'],
  ['an offer without a token', offer(100, null), 'EPROTO'],
  ['an offer that is no list', record(Kind.Offer, '{"length":1}'), 'EPROTO'],
  ['an offer that is null', record(Kind.Offer, 'null'), 'EPROTO'],
  ['an offer that is no JSON', record(Kind.Offer, '[[['), 'EPROTO'],
  ['an empty offer', record(Kind.Offer, ''), 'EPROTO'],
  ['an offer of 2 MiB', record(Kind.Offer, ' '.repeat(2 ** 21)), 'EMSGSIZE'],
  ['the address of another engine', record(Kind.Engine, 'x'), 'EPROTO'],
  ['a record of an unknown kind', record(3, 'x'), 'EPROTO'],
];

describe.each(calls)('%s', (_name, call) => {
  test.each(records)('%s ends the socket', async (_what, bytes, code) => {
    const socket = await receiverOf(bytes);
    const allocate = vi.spyOn(engine, 'allocate');
    onTestFinished(() => allocate.mockRestore());
    await expect(call(socket)).rejects.toMatchObject({ code });
    expect(socket.closed).toBe(true);
    expect(Math.max(0, ...allocate.mock.calls.map(([length]) => length))).toBeLessThanOrEqual(4096);
  });
});

test('an offer whose token opens another length ends the socket', async () => {
  const to = await other.peer(engine.address);
  const memory = await other.allocate(8192);
  const { token } = await memory.offer({ access: 'read', to });
  const socket = await receiverOf(offer(4096, token));
  await expect(socket.receive()).rejects.toMatchObject({ code: 'EPROTO' });
  expect(socket.closed).toBe(true);
});

test('an offer whose token is for writes ends the socket', async () => {
  const to = await other.peer(engine.address);
  const memory = await other.allocate(4096);
  const { token } = await memory.offer({ access: 'write', to });
  const socket = await receiverOf(offer(4096, token));
  await expect(socket.receive()).rejects.toMatchObject({ code: 'EPROTO' });
});

test('engines meet although no message may be as long as their addresses', async () => {
  const [server, port] = await serve({ engine, maxMessageLength: 1 });
  const accepted = once(server, 'messages') as Promise<[MessageSocket]>;
  const client = connect({ port, host: HOST, mode: 'messages', engine: other });
  const [peer] = await accepted;
  onTestFinished(() => {
    client.destroy();
    peer.destroy();
  });
  const memory = await other.allocate(1);
  memory.bytes.fill(7);
  const sent = client.sendFrom(memory);
  expect(await peer.receive()).toEqual(Uint8Array.of(7));
  await sent;
});

test('sendFrom() fails when the peer destroys the socket before it reads', async () => {
  const [server, port] = await serve({ engine });
  const accepted = once(server, 'messages') as Promise<[MessageSocket]>;
  const client = connect({ port, host: HOST, mode: 'messages', engine: other });
  const [peer] = await accepted;
  onTestFinished(() => client.destroy());
  const sent = client.sendFrom(await other.allocate(4096));
  const refused = expect(sent).rejects.toMatchObject({
    code: expect.stringMatching(/^(ECONNRESET|EPIPE)$/),
  });
  await client.send('after'); // goes behind the offer
  peer.destroy();
  await refused;
});
