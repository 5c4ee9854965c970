// A process that plays rounds, as the survivor or as the victim, and checks what each round leaves behind.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { dumpState } from 'libfabric';
import { Channel } from './channel.mjs';
import { Stalls } from './lateness.mjs';
import { holdings, more } from './residue.mjs';
import { survive } from './survivor.mjs';
import { openAndMove } from './traffic.mjs';
import { fall } from './victim.mjs';

const VANISH = 1000; // ms within which closed resources must be gone

const channel = new Channel((message) => process.send(message));
let worker; // plays the victim
let ending = false;
process.on('disconnect', () => ending || process.exit(1)); // the coordinator has ended
process.on('message', (message) => {
  if (worker === undefined) channel.receive(message);
  else if (message.name === 'end') terminate();
  else worker.postMessage(message);
});

const met = new Set(); // kinds of rounds for which the provider has allocated its process-wide resources
for (;;) {
  const { round, role, exit } = await channel.next('play');
  if (exit) process.exit();
  if (round === undefined) break;
  const play = role === 'survivor' ? survive : round.event === 'terminate' ? inWorker : fall;
  const driver = role === 'survivor' ? round.driver : round.victimDriver;
  const kind = `${driver}, ${play.name}`;
  if (!met.has(kind)) {
    await openAndMove(round.provider, driver);
    if (play === inWorker) await once(start({ provider: round.provider, driver }), 'exit');
    met.add(kind);
  }
  const before = holdings();
  const { length: parkedBefore } = dumpState().parked;
  const stalls = new Stalls();
  const result = await play(round, channel);
  channel.send('step', 'opening again');
  try {
    await openAndMove(round.provider, driver);
  } catch (error) {
    result.failures.push(`the next open fails: ${error}`);
  }
  result.stall = stalls.end();
  channel.send('step', 'checking what is left');
  result.left = more(before, await settled(before));
  result.parked = Math.max(0, dumpState().parked.length - parkedBefore);
  channel.send('result', result);
}
ending = true;
process.disconnect();

/** Waits until the resources of before the round remain, or until the time limit. Returns the resources. */
async function settled(before) {
  const end = performance.now() + VANISH;
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
  channel.send('falling');
  return { failures, operations: 0, late: { late: 0, what: '' }, close: 0 };
}

function terminate() {
  worker.terminate();
}
