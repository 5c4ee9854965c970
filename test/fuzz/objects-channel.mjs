// Channels of an object server: what a hostile client sends to the server, and a hostile server to its client. The first byte of
// an input has switches; the second is the length of the pieces in which the rest arrives. It is either the bytes of the
// connection, or messages, a line each: their number, a letter for the length of the body, the body, and the head.
import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { Budget } from '../../dist/objects/budget.js';
import { decodeMessage } from '../../dist/objects/channel.js';
import { ChannelExchange, GaveWay } from '../../dist/objects/channel-client.js';
import { Channel } from '../../dist/objects/channel-server.js';
import { fuzz } from './support/loop.mjs';
import { MemoryFolder, serviceOf } from './support/object-store.mjs';

// The switches.
const IS_RAW = 1;
const IS_CLIENT = 2;
const READS_NOTHING = 4;
const IS_HALF = 8; // the last message has not arrived whole
const ENDS_EARLY = 16;

const MEMORY = 4 * 1024 * 1024; // bytes of the server, so that calls wait for it
const CALLS = 3; // of the client

const messages = (switches, piece, ...lines) =>
  String.fromCharCode(switches, piece) + lines.map((line) => `${line}\n`).join('');
const get = (id, fields = '{}') => `${id} ["GET","/b/a",${fields}]`;
const gets = Array.from({ length: 90 }, (_, i) => get(String.fromCharCode(0x80 + (i % 96))));

const seeds = [
  messages(0, 0, get(1), get(2, '{"range":"bytes=1-9"}'), '3eabcde["PUT","/b/c",{}]'),
  messages(0, 1, get(1), '1 ["ABORT","",{}]', '2 ["HEAD","/b",{}]'),
  messages(READS_NOTHING, 0, ...gets),
  messages(READS_NOTHING | ENDS_EARLY, 9, ...gets, '1 ["ABORT"]'),
  messages(IS_HALF, 5, get(1), get(2)),
  messages(0, 0, '1 ["GET","/",{"__proto__":"a","\\ud800":"b"}]', '1 {}', '1 []', '1 [1,2]'),
  messages(0, 0, '1p0123456789abcdef["PUT","/b/c",{"content-encoding":"aws-chunked"}]'),
  messages(IS_RAW, 3, '\x08\0\0\0\x01\0\0\0\0\0\0\0'),
  messages(IS_RAW, 0, '\xff\xff\xff\xff'),
  messages(IS_RAW, 0, '\0\0\0\0'),
  messages(IS_CLIENT, 0, '\x01 [200,{"etag":"a"}]', '\x02eabcde[404,{}]', '\x03 [304,{}]'),
  messages(IS_CLIENT, 2, '\x01 ["200",{}]', '\x09 [200,{}]'),
  messages(IS_CLIENT | IS_RAW, 1, '\x0c\0\0\0\x01\0\0\0\0\0\0\0[1,]'),
];

const words = [
  ...[
    '["GET","',
    '["PUT","',
    '["ABORT"',
    '{}',
    '[]',
    'null',
    '1e999',
    '"\\u0000"',
    '\\ud800',
    '\n',
  ],
  ...[
    '/b/a',
    '/b/%',
    '/b?list-type=2',
    '"range":"bytes=0-"',
    '"if-match":"*"',
    '\0\0\0\0',
    ']',
    '}',
  ],
  ...['\xff\xff\xff\xff', '\x01\0\0\0', '{"a":1}', '{"a":{}}', '"x-libfabric-token":"a"'],
];

/** A socket that gets bytes of the input, and keeps what is written. */
class Socket extends EventEmitter {
  destroyed = false;
  written = [];
  #waiting = [];
  #unwritten = [];
  #isPaused = false;
  #readsNothing;
  #isFlowing = false;

  constructor(readsNothing) {
    super();
    this.#readsNothing = readsNothing;
  }
  setNoDelay() {}
  setTimeout() {}
  setKeepAlive() {}
  ref() {}
  unref() {}
  pause() {
    this.#isPaused = true;
  }
  resume() {
    this.#isPaused = false;
    this.#flow();
  }
  unshift(chunk) {
    this.#waiting.unshift(chunk);
  }
  arrive(chunk) {
    this.#waiting.push(chunk);
    this.#flow();
  }
  #flow() {
    if (this.#isFlowing) return; // as a stream, which emits 'data' later
    this.#isFlowing = true;
    while (!this.#isPaused && !this.destroyed && this.#waiting.length > 0)
      this.emit('data', this.#waiting.shift());
    this.#isFlowing = false;
  }
  write(bytes, done) {
    this.written.push(Buffer.from(bytes));
    if (this.#readsNothing) this.#unwritten.push(done);
    else queueMicrotask(() => done?.());
  }
  destroy() {
    this.destroyed = true;
    this.#waiting = [];
    queueMicrotask(() => {
      for (const done of this.#unwritten.splice(0)) done?.(new Error('destroyed'));
      this.emit('close');
    });
  }
}

function framed(line) {
  const id = line[0] ?? 0;
  const rest = line.subarray(2);
  const length = Math.max(0, (line[1] ?? 0) - 0x60);
  const message = Buffer.alloc(12 + rest.length);
  message.writeUInt32LE(8 + rest.length);
  message.writeUInt32LE(id, 4);
  message.writeUInt32LE(length % 32, 8);
  rest.copy(message, 12);
  return message;
}

function bytesOf(switches, input) {
  if (switches & IS_RAW) return input;
  const lines = [];
  for (let at = 0; at < input.length; ) {
    const end = input.indexOf(10, at);
    lines.push(framed(input.subarray(at, end < 0 ? input.length : end)));
    at = end < 0 ? input.length : end + 1;
  }
  const all = Buffer.concat(lines);
  return switches & IS_HALF ? all.subarray(0, -3) : all;
}

async function feed(socket, bytes, piece) {
  const length = piece === 0 || bytes.length > 8192 ? 8192 : piece;
  for (let at = 0; at < bytes.length && !socket.destroyed; at += length) {
    socket.arrive(bytes.subarray(at, at + length));
    if (at % 4096 === 0) await turn();
  }
  await turn();
}

const claim = (holds, what) => {
  if (!holds) throw new Error(what);
};

/** The answers that were written, whole. */
function answersIn(written) {
  const all = Buffer.concat(written);
  const answers = [];
  for (let at = 0; at < all.length; ) {
    const end = at + 4 + all.readUInt32LE(at);
    claim(end <= all.length, 'an answer has no end');
    answers.push(decodeMessage(all.subarray(at, end)));
    at = end;
  }
  return answers;
}

async function toServer(switches, piece, bytes) {
  const memory = new Budget(MEMORY);
  const service = serviceOf(new MemoryFolder());
  const socket = new Socket((switches & READS_NOTHING) !== 0);
  let closes = 0;
  const channel = new Channel(service, socket, '', memory, {
    used: () => {},
    idle: () => {},
    closed: () => {
      closes += 1;
    },
  });
  channel.start(Buffer.alloc(0));
  const feeding = feed(socket, bytes, piece);
  if (switches & ENDS_EARLY) channel.close();
  await feeding;
  await service.drain();
  await turn();
  const isEnded = socket.destroyed;
  const answers = answersIn(socket.written);
  channel.close();
  await turn();
  claim(closes === 1, `the channel has closed ${closes} times`);
  claim(service.arriving.bytes === 0, 'what arrives was not forgotten');
  claim(memory.take(MEMORY) === undefined, 'memory was not given back');
  const statuses = new Set(answers.map(({ head }) => head[0]));
  return `server ${isEnded} ${Math.min(answers.length, 4)} ${[...statuses].sort()}`;
}

async function toClient(switches, piece, bytes) {
  const socket = new Socket((switches & READS_NOTHING) !== 0);
  const exchange = new ChannelExchange(socket, Buffer.alloc(0), 100_000);
  const call = { method: 'GET', path: '/b/a', fields: {} };
  const calls = Promise.allSettled(Array.from({ length: CALLS }, () => exchange.open(call)));
  await feed(socket, bytes, piece);
  const isEnded = socket.destroyed;
  exchange.close();
  const results = (await calls).map((result) => {
    if (result.status === 'fulfilled') return Number.isInteger(result.value.status);
    if (result.reason instanceof GaveWay) return 'gave way';
    claim(/^E[A-Z]+$/.test(result.reason?.code), `an error without a code: ${result.reason}`);
    return result.reason.code;
  });
  return `client ${isEnded} ${results.sort()}`;
}

function execute(input) {
  const [switches = 0, piece = 0] = input;
  const bytes = bytesOf(switches, input.subarray(2));
  return (switches & IS_CLIENT ? toClient : toServer)(switches, piece, bytes);
}

await fuzz('objects-channel', { seeds, words, execute });
