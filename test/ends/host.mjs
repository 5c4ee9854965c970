// A process that runs rounds, as the survivor or as the victim, and checks which resources each round leaves.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { dumpState } from 'libfabric';
import { Channel } from './channel.mjs';
import { Stalls } from './lateness.mjs';
import { holdings, more } from './residue.mjs';
import { runSurvivor } from './survivor.mjs';
import { openAndTransfer } from './traffic.mjs';
import { runVictim } from './victim.mjs';

const CLEANUP_LIMIT = 1000; // ms within which closed resources must be gone

const channel = new Channel((message) => process.send(message));
let worker; // acts as the victim
let ending = false;
process.on('disconnect', () => ending || process.exit(1)); // the coordinator has exited
process.on('message', (message) => {
  if (worker === undefined) channel.receive(message);
  else if (message.name === 'end') terminate();
  else worker.postMessage(message);
});

const initialized = new Set(); // kinds of rounds for which the provider has allocated its process-wide resources
let opening = 0; // ms: the longest time that the first opening of a kind has blocked the event loop
for (;;) {
  const { round, role, exit } = await channel.next('run');
  if (exit) process.exit();
  if (round === undefined) break;
  const run =
    role === 'survivor' ? runSurvivor : round.event === 'terminate' ? inWorker : runVictim;
  const driver = role === 'survivor' ? round.driver : round.victimDriver;
  const kind = `${driver}, ${run.name}`;
  if (!initialized.has(kind)) {
    const stalls = new Stalls();
    await openAndTransfer(round.provider, driver);
    opening = Math.max(opening, stalls.end());
    if (run === inWorker) await once(start({ provider: round.provider, driver }), 'exit');
    initialized.add(kind);
  }
  const before = holdings();
  const { length: parkedBefore } = dumpState().parked;
  const stalls = new Stalls();
  const result = await run(round, channel);
  channel.send('step', 'opening another endpoint');
  try {
    await openAndTransfer(round.provider, driver);
  } catch (error) {
    result.failures.push(`the next open fails: ${error}`);
  }
  result.stall = stalls.end();
  result.opening = opening;
  channel.send('step', 'checking leftovers');
  result.left = more(before, await settled(before));
  result.parked = Math.max(0, dumpState().parked.length - parkedBefore);
  channel.send('result', result);
}
ending = true;
process.disconnect();

/** Waits until only the earlier resources remain, or until the time limit. Returns the resources. */
async function settled(before) {
  const end = performance.now() + CLEANUP_LIMIT;
  let now = holdings();
  while (more(before, now).length > 0 && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    now = holdings();
  }
  return now;
}

function start(workerData) {
  return new Worker(fileURLToPath(new URL('worker.mjs', import.meta.url)), { workerData });
}

async function inWorker(round) {
  const failures = [];
  worker = start({ round });
  worker.on('message', (message) => {
    if (message.name === 'terminate') terminate();
    else process.send(message);
  });
  worker.on('error', (error) => failures.push(`the worker throws ${error}`));
  const [code] = await once(worker, 'exit');
  worker = undefined;
  if (code !== 1) failures.push(`the worker ends on its own with code ${code}`);
  channel.send('ending');
  return { failures, operations: 0, late: { late: 0, what: '' }, close: 0 };
}

function terminate() {
  worker.terminate();
}
