// A worker closes a parked endpoint, and that call of the provider never returns. The main thread goes on.
import { existsSync, writeFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { dumpState } from 'libfabric';
import { pair } from './lifecycle-busy.mjs';

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url));
  const name = await new Promise((resolve) => worker.once('message', resolve));
  const file = `${process.env.STUCK_CLOSE}/${name}`;
  console.log('parked', dumpState().parked.length);
  writeFileSync(file, '');
  worker.postMessage('close');
  while (existsSync(file)) await turn();
  dumpState();
  const { a, b } = await pair('shm', 'thread', ['FI_MSG']);
  await a.close();
  await b.close();
  console.log('works');
  process.kill(process.pid, 'SIGKILL'); // the worker cannot be terminated
} else {
  const { a: other, b: parked } = await pair('shm', 'thread', ['FI_MSG']);
  const [name] = Buffer.from(parked.address).toString().split('//')[1].split('\0');
  await parked.close();
  parentPort.once('message', () => other.close());
  parentPort.postMessage(name);
}
