// What the transfer benchmarks measure. Each figure returns the contenders: functions that do it once and resolve
// to milliseconds.
import { Agent, get } from 'node:http';
import { repeated } from './pair.mjs';

const KIB = 1024;
export const MIB = 1 << 20;
const SLICE = 512 * KIB;
const SMALL_COUNT = 200;

/** A transfer against the prepared batch of the same writes. */
export async function contiguous(pair, size) {
  const batch = pair.endpoint.batch();
  for (let at = 0; at < size; at += SLICE) {
    const length = Math.min(SLICE, size - at);
    batch.write(pair.region.slice(at, length), pair.peer, pair.remoteRegion, { offset: at });
  }
  const name = `contiguous ${size}`;
  return {
    engine: await repeated(pair, name, pair.place.slice(0, size), { length: size }),
    async batch() {
      const start = performance.now();
      await batch.submit();
      return performance.now() - start;
    },
  };
}

/** Scattered pages against the same bytes in one piece. */
export async function paged(pair, count, size) {
  const order = Array.from({ length: count }, (_, i) => i);
  const shuffled = (step) => order.map((i) => (i * step + 7) % count);
  const from = { indices: shuffled(1031), size };
  const into = { indices: shuffled(2053), size };
  const bytes = count * size;
  return {
    pages: await repeated(pair, 'pages', pair.place.pages(from), { pages: into }),
    contiguous: await repeated(pair, 'one piece', pair.place.slice(0, bytes), { length: bytes }),
  };
}

/** The same page again and again. It stays in the caches of the CPUs. */
export async function reused(pair, count, size) {
  const pages = { indices: new Array(count).fill(0), size };
  return { pages: await repeated(pair, 'one page', pair.place.pages(pages), { pages }) };
}

/** Half a round trip of 4 KiB, from write() to `arrived`, against single writes with data. */
export async function small(pair, length) {
  const into = pair.place.slice(0, length);
  const back = await into.offer({ access: 'write', to: pair.remote, repeat: true });
  const arrivals = back[Symbol.asyncIterator]();
  const token = await pair.ask('offer', { name: 'small', length });
  const grant = pair.remote.grant(token);
  let transfer;
  return {
    async engine() {
      const pong = { name: 'small', token: back.token, length, count: SMALL_COUNT };
      const done = pair.ask('pong', pong);
      const start = performance.now();
      for (let i = 0; i < SMALL_COUNT; i++) {
        transfer = transfer ? transfer.again() : pair.remote.write(into, grant);
        await arrivals.next();
        await transfer;
      }
      const took = performance.now() - start;
      await done;
      return took / SMALL_COUNT / 2;
    },
    async single() {
      const { endpoint, peer, remoteRegion } = pair;
      const memory = pair.region.slice(0, length);
      const done = pair.ask('plainPong', { length, count: SMALL_COUNT });
      const start = performance.now();
      for (let i = 0; i < SMALL_COUNT; i++) {
        const arrived = endpoint.cq.arrived(2);
        await endpoint.writedata(memory, 1, peer, remoteRegion);
        await arrived;
      }
      const took = performance.now() - start;
      await done;
      return took / SMALL_COUNT / 2;
    },
  };
}

/** A transfer against GET of node:http over a connection that stays open. */
export async function http(pair, size) {
  const port = await pair.ask('http');
  const agent = new Agent({ keepAlive: true });
  return {
    engine: await repeated(pair, 'http', pair.place.slice(0, size), { length: size }),
    get: () =>
      new Promise((resolve, reject) => {
        const start = performance.now();
        get({ port, agent, host: '127.0.0.1' }, (response) => {
          response.on('data', () => {});
          response.on('end', () => resolve(performance.now() - start));
        }).on('error', reject);
      }),
  };
}

/** The milliseconds that the event loop of the writer is busy in a transfer. */
export async function eventLoop(pair, size) {
  const busy = () => {
    const before = performance.eventLoopUtilization();
    return () => performance.eventLoopUtilization(before).active;
  };
  return {
    here: await repeated(pair, 'loop', pair.place.slice(0, size), { length: size }, busy),
  };
}
