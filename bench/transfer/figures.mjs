// The figures of the transfer benchmarks. Each returns the contenders: functions that do the work once and resolve
// to milliseconds.
import { Agent, get } from 'node:http';
import { elapsed, repeated } from './pair.mjs';

const KIB = 1024;
export const MIB = 1 << 20;
const SLICE = 512 * KIB;
const SMALL_COUNT = 200;
const COMPILED = 4000; // transfers after which V8 has compiled the code, as in a service

const DATA = 3; // of the writes of a batch

/** The flags of the writes of a transfer. */
const DELIVERED = ['FI_DELIVERY_COMPLETE'];

/**
 * A prepared batch of the writes of a transfer: with data, so that the peer knows when all have arrived. The result
 * does it once and resolves to the value of `clock`.
 */
function batchOf(pair, size, { flags = DELIVERED, clock = elapsed } = {}) {
  const batch = pair.endpoint.batch();
  let count = 0;
  for (let at = 0; at < size; at += SLICE) {
    const from = pair.region.slice(at, Math.min(at + SLICE, size));
    batch.writedata(from, DATA, pair.peer, pair.remoteRegion, { offset: at, flags });
    count += 1;
  }
  return async () => {
    const took = clock();
    await batch.submit();
    const result = took();
    await pair.ask('plainArrived', { data: DATA, count });
    return result;
  };
}

const compiled = new WeakSet();

/** Runs small transfers and batches until V8 has compiled their code, once for a pair. */
async function compile(pair) {
  if (compiled.has(pair)) return;
  compiled.add(pair);
  const transfer = await repeated(pair, 'compile', pair.memory.slice(0, 4096), { length: 4096 });
  const batch = batchOf(pair, 4096);
  for (let i = 0; i < COMPILED; i++) {
    await transfer();
    await batch();
  }
}

// The thread of a NIC sleeps after a millisecond without work. The first of two runs wakes those of both sides.
const awake = (run) => async () => {
  await run();
  return run();
};

/** A transfer against a prepared batch of its writes. */
export async function contiguous(pair, size, flags = DELIVERED) {
  await compile(pair);
  const name = `contiguous ${size}`;
  return {
    engine: awake(await repeated(pair, name, pair.memory.slice(0, size), { length: size })),
    batch: awake(batchOf(pair, size, { flags })),
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
    pages: await repeated(pair, 'pages', pair.memory.pages(from), { pages: into }),
    contiguous: await repeated(pair, 'one piece', pair.memory.slice(0, bytes), { length: bytes }),
  };
}

/** The same page again and again. It stays in the caches of the CPUs. */
export async function reused(pair, count, size) {
  const pages = { indices: new Array(count).fill(0), size };
  return { pages: await repeated(pair, 'one page', pair.memory.pages(pages), { pages }) };
}

/**
 * Half a round trip of 4 KiB, from write() to `arrived`, against single writes with data. `flags` are theirs: slices
 * have FI_DELIVERY_COMPLETE.
 */
export async function small(pair, length, flags = []) {
  const into = pair.memory.slice(0, length);
  const back = await into.offer({ access: 'write', to: pair.remote, repeat: true });
  const arrivals = back[Symbol.asyncIterator]();
  const token = await pair.ask('offer', { name: 'small', length });
  const grant = pair.remote.grant(token);
  let transfer;
  const engine = async () => {
    transfer = transfer ? transfer.repeat() : pair.remote.write(into, grant);
    await arrivals.next();
    await transfer;
  };
  const { endpoint, peer, remoteRegion } = pair;
  const memory = pair.region.slice(0, length);
  const single = async () => {
    const arrived = endpoint.receiveQueue.arrived(2);
    await endpoint.writedata(memory, 1, peer, remoteRegion, { flags });
    await arrived;
  };
  const halfTrip = (roundTrip, command, options) => async () => {
    const done = pair.ask(command, { ...options, length, count: SMALL_COUNT });
    const took = elapsed();
    for (let i = 0; i < SMALL_COUNT; i++) await roundTrip();
    const result = took() / SMALL_COUNT / 2;
    await done;
    return result;
  };
  const contenders = {
    engine: halfTrip(engine, 'pong', { name: 'small', token: back.token }),
    single: halfTrip(single, 'plainPong', { flags }),
  };
  for (let i = 0; i < COMPILED; i += SMALL_COUNT) {
    for (const run of Object.values(contenders)) await run();
  }
  return contenders;
}

/** Messages of 64 bytes to the peer, a window of them at a time. */
export async function notifications(pair, count, window) {
  await pair.ask('readNotifications');
  const bytes = new Uint8Array(64);
  const notify = () => pair.remote.notify(bytes);
  return {
    notify: async () => {
      const took = elapsed();
      for (let sent = 0; sent < count; sent += window) {
        await Promise.all(Array.from({ length: Math.min(window, count - sent) }, notify));
      }
      return took();
    },
  };
}

/** A transfer against GET of node:http over a connection that stays open. */
export async function http(pair, size) {
  const port = await pair.ask('http');
  const agent = new Agent({ keepAlive: true });
  return {
    engine: await repeated(pair, 'http', pair.memory.slice(0, size), { length: size }),
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

/**
 * The milliseconds that the event loop of the writer is busy in a transfer: of its thread's CPU time if Node.js
 * reports it (from 23.9), else of time, in which the thread of the NIC may have the core too. Against a prepared batch
 * of the same writes.
 */
export async function eventLoop(pair, size) {
  const busy = () => {
    const before = performance.eventLoopUtilization();
    return () => performance.eventLoopUtilization(before).active;
  };
  const onCpu = () => {
    const { user, system } = process.threadCpuUsage();
    return () => {
      const now = process.threadCpuUsage();
      return (now.user + now.system - user - system) / 1000;
    };
  };
  const clock = process.threadCpuUsage === undefined ? busy : onCpu;
  await compile(pair);
  return {
    here: await repeated(pair, 'loop', pair.memory.slice(0, size), { length: size }, clock),
    batch: batchOf(pair, size, clock),
  };
}
