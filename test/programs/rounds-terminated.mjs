// Ends workers, and then itself, while a batch is posted repeatedly. Arguments: provider, driver.
import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { open } from 'libfabric';

const [provider, driver] = process.argv.slice(2);

async function begin() {
  const ep = await open({
    provider,
    driver,
    caps: ['FI_MSG', 'FI_RMA'],
    ...(provider === 'tcp' && { node: '127.0.0.1' }),
  });
  const self = ep.av.insert(ep.address);
  const region = await ep.domain.allocate(64, ['FI_REMOTE_WRITE', 'FI_WRITE']);
  const batch = ep.batch();
  batch.write(region, self, ep.domain.remote(region.descriptor()));
  batch.submit({ times: Number.MAX_SAFE_INTEGER }).catch(() => {});
  if (driver === 'manual') setInterval(() => ep.domain.progress());
  while (ep.domain.stats().operations < 100) await new Promise(setImmediate);
}

if (isMainThread) {
  for (let i = 0; i < 5; i++) {
    const worker = new Worker(new URL(import.meta.url), { argv: [provider, driver] });
    await once(worker, 'message');
    await worker.terminate();
  }
  await begin();
  console.log('running');
  process.exit();
}
await begin();
parentPort.postMessage('running');
