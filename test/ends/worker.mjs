// A victim in a worker.
import { parentPort, workerData } from 'node:worker_threads';
import { Channel } from './channel.mjs';
import { openAndTransfer } from './traffic.mjs';
import { runVictim } from './victim.mjs';

const { round, provider, driver } = workerData;
if (round === undefined) {
  await openAndTransfer(provider, driver);
} else {
  const channel = new Channel((message) => parentPort.postMessage(message));
  parentPort.on('message', (message) => channel.receive(message));
  await runVictim(round, channel);
}
