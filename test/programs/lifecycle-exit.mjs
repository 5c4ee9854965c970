// Ends in one of several ways while operations are in flight. Arguments: provider, driver, where, how.
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { busy } from './lifecycle-busy.mjs';

const [provider, driver, where, how] = workerData ?? process.argv.slice(2);

const ends = {
  exit: () => process.exit(3),
  throw: () => {
    setImmediate(() => {
      throw new Error('on purpose');
    });
  },
  reject: () => {
    throw new Error('on purpose');
  },
  kill: () => process.kill(process.pid, 'SIGTERM'),
};

async function startAndEnd() {
  const { sendMessage } = await busy(provider, driver);
  console.log('busy');
  sendMessage().then(ends[how]);
}

if (isMainThread && where === 'main') {
  await startAndEnd();
} else if (isMainThread) {
  const worker = new Worker(fileURLToPath(import.meta.url), {
    workerData: process.argv.slice(2),
  });
  worker.on('error', (error) => console.log(error.message));
  worker.on('exit', (code) => console.log(`worker ended with ${code}`));
  worker.on('message', () => process.exit(4));
} else if (how === 'parent') {
  await busy(provider, driver);
  console.log('busy');
  parentPort.postMessage('busy');
} else {
  await startAndEnd();
}
