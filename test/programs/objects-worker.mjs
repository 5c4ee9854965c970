// An object server in a worker thread, and its clients in the main thread. Prints the warnings of the worker.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { createObjectServer, ObjectClient } from 'libfabric/objects';

const MIB = 2 ** 20;

async function serve() {
  const warnings = new Set();
  process.on('warning', ({ message }) => warnings.add(message));
  const server = await createObjectServer(workerData);
  parentPort.postMessage(await server.listen());
  parentPort.once('message', async () => {
    await server.close();
    setImmediate(() => parentPort.postMessage([...warnings]));
  });
}

async function* parts() {
  for (let i = 0; i < 10; i++) yield new Uint8Array(MIB);
}

async function ask(url) {
  const client = new ObjectClient(`${url}/b`);
  const fails = (call) =>
    call.then(
      () => console.log('a call has not failed'),
      () => {},
    );
  await client.put('a/b', 'x');
  await client.put('big', new Uint8Array(6 * MIB));
  await client.put('parts', parts());
  for (const key of ['a/b', 'big']) await client.get(key, { checksum: 'sha256' });
  await client.head('big');
  for (const options of [{}, { delimiter: '/' }]) for await (const _ of client.list(options));
  for (const key of ['missing', 'missing/deep', 'big/x']) await fails(client.get(key));
  await fails(client.put('big/x', 'y'));
  const cut = await fetch(`${url}/b/big`);
  await cut.body.cancel();
  await client.delete('a/b');
  const other = new ObjectClient(`${url}/other`);
  await other.createBucket();
  await fails(other.createBucket());
  await fetch(`${url}/other`, { method: 'DELETE' });
  await Promise.all([client.close(), other.close()]);
}

if (!isMainThread) await serve();
else {
  const root = mkdtempSync(join(tmpdir(), 'objects-'));
  mkdirSync(join(root, 'b'));
  const worker = new Worker(new URL(import.meta.url), { workerData: root });
  const next = () => new Promise((resolve) => worker.once('message', resolve));
  await ask(await next());
  const warnings = next();
  worker.postMessage('close');
  console.log((await warnings).join('\n') || 'no warnings');
  rmSync(root, { recursive: true });
}
