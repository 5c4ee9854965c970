// Resolves a name with a resolver that waits for a signal, and meanwhile makes all calls that must not wait for it.
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
let longest = 0;
const timed = (call) => {
  const start = performance.now();
  const result = call();
  longest = Math.max(longest, performance.now() - start);
  return result;
};
for (let i = 0; i < 100; i++) {
  const received = timed(() => b.recv(new Uint8Array(1000)));
  const sent = timed(() => a.send(new Uint8Array(500).fill(i), toB));
  timed(() => av.lookup(toB));
  timed(() => av.insert(b.address));
  timed(() => a.batch().close());
  timed(dumpState);
  await settle(Promise.all([received, sent]));
}
const early = resolved;
writeSync(openSync(process.env.SLOW_RESOLVER, 'w'), '!');
const peer = await inserted;
const address = [...av.lookup(peer)];
await Promise.all([a.close(), b.close()]);
console.log(JSON.stringify({ early, longest, address }));
