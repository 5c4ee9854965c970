import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect as connectTcp } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect, FabricAgent } from '../../net/index.js';
import { quantile } from '../shared/statistics.js';
import type { Flags } from './net.js';
import { ECHO, fabricOf, pathOf, SINK } from './options.js';

/** A measurement: a latency in microseconds, or a rate. */
export interface Measured {
  readonly test: string;
  /** The path of the packets: 'efa', 'control', 'node:net', ... */
  readonly path: string;
  readonly bytes: number;
  readonly p50?: number;
  readonly p99?: number;
  readonly perSecond?: number;
  readonly megabytesPerSecond?: number;
}

type Connect = (mode: string) => Promise<Duplex & { readonly path?: string | undefined }>;

/** Measures everything, and prints it. */
export async function measureAll(host: string, flags: Flags): Promise<void> {
  const rows: Measured[] = [];
  const print = (row: Measured) => {
    rows.push(row);
    if (!flags.json) console.log(rowText(row));
  };
  if (!flags.json) console.log(HEADING);
  for await (const row of flags.http ? requests(host, flags) : sockets(host, flags)) print(row);
  if (flags.json) console.log(JSON.stringify({ command: 'net', host, results: rows }, null, 2));
}

const HEADING =
  'test'.padEnd(18) +
  'packets over'.padEnd(14) +
  'bytes'.padStart(9) +
  'p50 us'.padStart(10) +
  'p99 us'.padStart(10) +
  'per second'.padStart(13) +
  'MB/s'.padStart(10);

function rowText({ test, path, bytes, p50, p99, perSecond, megabytesPerSecond }: Measured): string {
  const cell = (value: number | undefined, width: number, digits = 0) =>
    (value === undefined ? '' : value.toFixed(digits)).padStart(width);
  return (
    test.padEnd(18) +
    path.padEnd(14) +
    String(bytes).padStart(9) +
    cell(p50, 10, 1) +
    cell(p99, 10, 1) +
    cell(perSecond, 13) +
    cell(megabytesPerSecond, 10)
  ).trimEnd();
}

async function* sockets(host: string, flags: Flags): AsyncGenerator<Measured> {
  const { exchange: port, time, size } = flags;
  const options = { host, port, ...fabricOf(flags) };
  const overFabric: Connect = async (mode) => {
    const socket = connect({ ...options, allowHalfOpen: true });
    await once(socket, 'connect');
    socket.write(mode);
    return socket;
  };
  const messages = connect({ ...options, mode: 'messages' });
  await once(messages, 'connect');
  const contenders = [overFabric];
  if (flags.compare) {
    await messages.send('plain');
    const plain = Number(Buffer.from((await messages.receive()) ?? []).toString());
    contenders.push(async (mode) => {
      const socket = connectTcp({ host, port: plain, noDelay: true, allowHalfOpen: true });
      await once(socket, 'connect');
      socket.write(mode);
      return socket;
    });
  }
  for (const each of contenders) yield await halfRoundTrips(each, time);
  for (const each of contenders) yield await stream(each, size, time);
  for (const bytes of [64, size]) {
    const message = Buffer.alloc(bytes, 1);
    const start = performance.now();
    let sent = 0;
    do {
      for (let i = 0; i < 64; i++) messages.send(message).catch(() => {}); // receive() reports it
      await messages.send(message);
      sent += 65;
    } while (performance.now() - start < time);
    await messages.send('');
    await messages.receive();
    yield rateOf('messages', messages.path ?? '', bytes, sent, performance.now() - start);
  }
  messages.destroy();
}

const rateOf = (
  test: string,
  path: string,
  bytes: number,
  count: number,
  ms: number,
): Measured => ({
  test,
  path,
  bytes,
  perSecond: (count / ms) * 1000,
  megabytesPerSecond: (count * bytes) / ms / 1000,
});

const LATENCY = 64; // bytes

async function halfRoundTrips(connected: Connect, time: number): Promise<Measured> {
  const socket = await connected(ECHO);
  const bytes = Buffer.alloc(LATENCY, 1);
  const halves: number[] = [];
  const end = performance.now() + time;
  for (let start = performance.now(); start < end; start = performance.now()) {
    socket.write(bytes);
    for (let left = LATENCY; left > 0; ) left -= ((await once(socket, 'data'))[0] as Buffer).length;
    halves.push(((performance.now() - start) * 1000) / 2);
  }
  socket.destroy();
  const path = socket.path ?? 'node:net';
  const [p50, p99] = [quantile(halves, 0.5), quantile(halves, 0.99)];
  return { test: 'half round trip', path, bytes: LATENCY, p50, p99 };
}

async function stream(connected: Connect, size: number, time: number): Promise<Measured> {
  const socket = await connected(SINK);
  const bytes = Buffer.alloc(size, 1);
  const start = performance.now();
  let sent = 0;
  while (performance.now() - start < time) {
    sent += 1;
    if (!socket.write(bytes)) await once(socket, 'drain');
  }
  socket.end();
  const [total] = await once(socket, 'data');
  const ms = performance.now() - start;
  if (Number(total) !== sent * size) throw new Error(`${total} of ${sent * size} bytes arrived`);
  socket.destroy();
  return rateOf('stream', socket.path ?? 'node:net', size, sent, ms);
}

async function* requests(host: string, flags: Flags): AsyncGenerator<Measured> {
  const { exchange: port, time, size } = flags;
  const overFabric = new FabricAgent({ keepAlive: true, ...fabricOf(flags) });
  const agents: [string, Agent][] = [[flags.provider ?? 'control', overFabric]];
  if (flags.compare) agents.push(['node:net', new Agent({ keepAlive: true })]);
  for (const bytes of [1024, size]) {
    for (const [path, agent] of agents) {
      const start = performance.now();
      let count = 0;
      for (; performance.now() - start < time; count++)
        await answered({ agent, host, port, path: pathOf(bytes) });
      yield rateOf('HTTP/1.1 GET', path, bytes, count, performance.now() - start);
    }
  }
  for (const [, agent] of agents) agent.destroy();
}

const answered = (options: object): Promise<void> =>
  new Promise((resolve, reject) => {
    get(options, (response) => response.on('end', resolve).on('error', reject).resume()).on(
      'error',
      reject,
    );
  });
