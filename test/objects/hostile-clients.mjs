// Hostile clients of the object server at a URL: `node hostile-clients.mjs URL COUNT`. Each does one thing, again and again, until
// the process ends. It sends 'attacking' to its parent when all have begun.
import { connect, createServer } from 'node:net';
import { decodeAddress, encodeAddress } from '../../dist/transfer/address.js';
import { encodeToken } from '../../dist/transfer/token.js';

const [, , url, count] = process.argv;
const port = Number(new URL(url).port);

const open = () => connect(port, '127.0.0.1').on('error', () => {});
const closed = (socket) => new Promise((resolve) => socket.once('close', resolve));
const UPGRADE =
  'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: libfabric-objects\r\n\r\n';
const MIB = 2 ** 20;

function message(id, head, body = 0) {
  const text = Buffer.from(JSON.stringify(head));
  const bytes = Buffer.alloc(12 + body + text.length, 1);
  bytes.writeUInt32LE(8 + body + text.length);
  bytes.writeUInt32LE(id, 4);
  bytes.writeUInt32LE(body, 8);
  text.copy(bytes, 12 + body);
  return bytes;
}

/** A channel, after the answer to its upgrade. */
async function channel() {
  const socket = open();
  socket.write(UPGRADE);
  await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
  return socket.pause();
}

/** Writes as long as the peer takes it. */
async function pour(socket, bytes) {
  const more = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', more);
  more();
  await closed(socket);
}

// A place that accepts connections and says nothing, which the addresses of forged engines name.
const silent = createServer((socket) => socket.on('error', () => {}));
await new Promise((resolve) => silent.listen(0, '127.0.0.1', resolve));
const rail = Buffer.alloc(16);
rail.writeUInt16LE(2);
rail.writeUInt16BE(silent.address().port, 2);
rail.set([127, 0, 0, 1], 4);
const theirs = decodeAddress((await (await fetch(`${url}/.libfabric`)).json()).address, '');
let lastId = 0n;

function forged() {
  const id = ++lastId + 0x1234_0000_0000n;
  const address = { ...theirs, id, rails: [new Uint8Array(rail)], process: undefined, maps: false };
  const token = {
    ...{ access: 'write', repeats: false, owner: id, grantee: theirs.id, offer: 0, serial: 1 },
    ...{ before: 0, expires: Date.now() + 600_000, first: 0, expected: 1, planned: 0 },
    ...{ slice: MIB, pieces: Float64Array.of(0, MIB), rails: [{ address: 0n, key: 1n }] },
    file: undefined,
  };
  return `x-libfabric-address: ${encodeAddress(address, '')}\r\nx-libfabric-token: ${encodeToken(token, '')}\r\n`;
}

const KINDS = {
  async 'asks and reads no answer'() {
    const socket = open().pause();
    socket.write('GET /b/short HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(60));
    await closed(socket);
  },
  async 'asks without end and reads no answer'() {
    await pour(open().pause(), 'GET /b/long HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2000));
  },
  async 'sends trailers without end'() {
    const socket = open();
    const head =
      'PUT /b/c HTTP/1.1\r\nHost: a\r\nContent-Encoding: aws-chunked\r\nX-Amz-Decoded-Content-Length: 0\r\n';
    const trailer = 'x-amz-checksum-crc32';
    socket.write(`${head}X-Amz-Trailer: ${trailer}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const begin = `0\r\n${trailer}:`;
    socket.write(`${begin.length.toString(16)}\r\n${begin}\r\n`);
    await pour(socket, `1000\r\n${'a'.repeat(4096)}\r\n`);
  },
  async 'sends a head byte by byte'() {
    const socket = open();
    socket.write(`GET /b/a HTTP/1.1\r\n${`a: ${'b'.repeat(1000)}\r\n`.repeat(900)}`);
    const timer = setInterval(() => socket.write('c'), 20);
    await closed(socket);
    clearInterval(timer);
  },
  async 'opens uploads and leaves them'() {
    const socket = open();
    socket.write('POST /b/u?uploads HTTP/1.1\r\nHost: a\r\n\r\n');
    const text = String(await new Promise((resolve) => socket.once('data', resolve)));
    const [, id] = /<UploadId>(.*)<\/UploadId>/.exec(text) ?? [];
    const length = 4 * MIB;
    socket.write(
      `POST /b/u?uploadId=${id} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`,
    );
    socket.resume().write(Buffer.alloc(length - 1, 'a')); // the list of its parts
    await closed(socket);
  },
  async 'begins messages of a channel'() {
    const socket = await channel();
    socket.write(message(1, ['PUT', '/b/c', {}], 1.9 * MIB).subarray(0, -1));
    await closed(socket);
  },
  async 'stops reading a channel'() {
    const socket = await channel();
    for (let id = 1; id <= 200; id++)
      socket.write(message(id, ['GET', id % 2 ? '/b/short' : '/b/long', {}]));
    await closed(socket);
  },
  async 'lies on a channel'() {
    const socket = await channel();
    socket.end(message(1, ['GET', '/b/short', { 'x-libfabric-token': 'a' }]).fill(0xff, 4, 8));
    await closed(socket);
  },
  async 'connects again and again'() {
    const socket = open();
    socket.write('GET /b/short HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => setTimeout(resolve, 5));
    socket.resetAndDestroy();
    await closed(socket);
  },
  async 'forges addresses of engines'() {
    const socket = open();
    socket.write(`GET /b/long HTTP/1.1\r\nHost: a\r\n${forged()}\r\n`);
    setTimeout(() => socket.destroy(), 500);
    await closed(socket);
  },
};

const kinds = Object.values(KINDS);
for (let i = 0; i < Number(count); i++) {
  const again = () => kinds[i % kinds.length]().then(again, again);
  again();
}
process.send('attacking');
process.on('disconnect', () => process.exit());
