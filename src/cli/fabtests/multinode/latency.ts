// Latency between two ranks.

import { FabricError } from '../../../base/errors.js';
import type { BatchBase } from '../../../endpoint/batch.js';
import type { Lane, Mesh } from './mesh.js';
import { addReceive, addTransfer } from './transfers.js';

const WARM_UP = 10;
const SLICE = 50; // ms that native calls may block the event loop
const CLOCK_INTERVAL = 16; // iterations between clock reads

/**
 * Microseconds of a transfer, measured by the rank that initiates it. For messages this is half a
 * round trip: the other rank answers. For reads and writes it is the time until the data has arrived.
 */
export async function measureLatency(mesh: Mesh, to: number, iterations: number): Promise<number> {
  const lane = mesh.lanes[0] as Lane;
  const message = mesh.settings.transfer === 'send';
  const batch = lane.ep.batch();
  if (message) addReceive(mesh, lane, batch, to);
  addTransfer(mesh, lane, batch, to, true);
  await repeat(mesh, batch, WARM_UP);
  const start = performance.now();
  await repeat(mesh, batch, iterations);
  const microseconds = ((performance.now() - start) * 1000) / iterations;
  batch.close();
  return message ? microseconds / 2 : microseconds;
}

/** The peer of measureLatency() with messages. Answers each message. */
export async function answer(mesh: Mesh, from: number, iterations: number): Promise<void> {
  const lane = mesh.lanes[0] as Lane;
  const [receive, exchange, send] = [lane.ep.batch(), lane.ep.batch(), lane.ep.batch()];
  for (const batch of [receive, exchange]) addReceive(mesh, lane, batch, from);
  for (const batch of [exchange, send]) addTransfer(mesh, lane, batch, from);
  await repeat(mesh, receive, 1);
  await repeat(mesh, exchange, WARM_UP + iterations - 1);
  await repeat(mesh, send, 1);
  for (const batch of [receive, exchange, send]) batch.close();
}

/** Runs a batch repeatedly, one run after another. */
async function repeat(mesh: Mesh, batch: BatchBase, times: number): Promise<void> {
  let nextYield = performance.now() + SLICE;
  for (let done = 0; done < times; ) {
    const end = Math.min(times, done + CLOCK_INTERVAL);
    try {
      for (; done < end; done++) batch.run(SLICE);
    } catch (error) {
      await finish(mesh, batch, error);
      done++;
    }
    if (performance.now() < nextYield) continue;
    await mesh.yieldToEvents();
    nextYield = performance.now() + SLICE;
  }
}

/** Handles an error of run(): continues to wait after a timeout, and rethrows any other error. */
async function finish(mesh: Mesh, batch: BatchBase, error: unknown): Promise<void> {
  const { timeout } = mesh.settings;
  const deadline = performance.now() + timeout * 1000;
  for (let latest = error; ; ) {
    if (!isTimeout(latest)) throw latest;
    if (performance.now() > deadline) throw new Error(`nothing has completed for ${timeout} s`);
    await mesh.yieldToEvents();
    try {
      batch.resume(SLICE);
      return;
    } catch (again) {
      latest = again;
    }
  }
}

const isTimeout = (error: unknown) =>
  error instanceof FabricError && error.code === 'FI_ETIMEDOUT' && error.syscall === 'run';
