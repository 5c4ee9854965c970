// Resolves a name with a resolver that waits for a signal, and meanwhile makes all calls that must not wait for it: one that
// did would wait for ever, because the signal comes after the calls.
import { openSync, writeSync } from 'node:fs';
import { dumpState, open } from 'libfabric';

const [provider, type, driver] = process.argv.slice(2);
const options = { provider, type, driver, caps: ['FI_MSG'], node: '127.0.0.1' };
const a = await open(options);
const b = await open(options);
const { av } = a;
const toB = av.insert(b.address);

const inserted = av.insertService('node.slow', 7471);
let resolved = false;
inserted.then(() => {
  resolved = true;
});

const turn = () => new Promise(setImmediate);
async function settle(promise) {
  let done = false;
  promise.finally(() => {
    done = true;
  });
  while (!done) {
    if (driver === 'manual') for (const { domain } of [a, b]) domain.progress();
    await turn();
  }
  return promise;
}

// Gives the resolver time to get the name before anything else happens. No event shows that it has.
await new Promise((resolve) => setTimeout(resolve, 50));
for (let i = 0; i < 100; i++) {
  const received = b.recv(new Uint8Array(1000));
  const sent = a.send(new Uint8Array(500).fill(i), toB);
  av.lookup(toB);
  av.insert(b.address);
  a.batch().close();
  dumpState();
  await settle(Promise.all([received, sent]));
}
const early = resolved;
writeSync(openSync(process.env.SLOW_RESOLVER, 'w'), '!');
const peer = await inserted;
const address = [...av.lookup(peer)];
await Promise.all([a.close(), b.close()]);
console.log(JSON.stringify({ early, address }));
