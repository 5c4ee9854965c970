// A peer process is killed while operations with it are in flight. Arguments: provider, driver, what.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { open } from 'libfabric';
import { pair, turn } from './lifecycle-busy.mjs';

const [provider, driver, what, address] = process.argv.slice(2);
const CAPS = ['FI_MSG', 'FI_TAGGED', 'FI_RMA'];
const hex = (bytes) => Buffer.from(bytes).toString('hex');

// Completes the handshake with its parent and then stays idle. It uses the manual driver, so that it is not killed
// while it holds a lock in the memory that it shares with its parent.
async function victim() {
  const ep = await open({ provider, driver: 'manual', caps: CAPS });
  const region = await ep.domain.allocate(1 << 20, ['FI_REMOTE_WRITE']);
  const exchanged = ep.recv(new Uint8Array(8));
  console.log(`${hex(ep.address)} ${hex(region.descriptor())}`);
  let done = false;
  const sent = ep.send(new Uint8Array(8), ep.av.insert(Buffer.from(address, 'hex')));
  Promise.all([sent, exchanged]).then(() => {
    done = true;
  });
  while (!done) {
    ep.domain.progress();
    await new Promise(setImmediate);
  }
  console.log('exchanged');
  setInterval(() => ep.closed, 1000);
}

async function survivor() {
  const others = await pair(provider, driver);
  const ep = await open({ provider, driver, caps: CAPS });
  turn(ep);
  const args = [fileURLToPath(import.meta.url), provider, driver, 'victim', hex(ep.address)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const [name, descriptor] = (await lines.next()).value.split(' ');
  const peer = ep.av.insert(Buffer.from(name, 'hex'));
  await Promise.all([ep.send(new Uint8Array(8), peer), ep.recv(new Uint8Array(8))]);
  await lines.next();

  const inFlight = [];
  const start = {
    receives: () => {
      for (let i = 0; i < 100; i++) inFlight.push(ep.recv(new Uint8Array(64)));
      for (let i = 0; i < 100; i++) inFlight.push(ep.trecv(new Uint8Array(64), null, i));
    },
    sends: () => {
      for (let i = 0; i < 5000; i++) inFlight.push(ep.send(new Uint8Array(1024), peer));
      for (let i = 0; i < 10; i++) inFlight.push(ep.send(new Uint8Array(1 << 20), peer));
    },
    writes: () => {
      const remote = ep.domain.remote(Buffer.from(descriptor, 'hex'));
      const source = new Uint8Array(1 << 16);
      for (let i = 0; i < 5000; i++) inFlight.push(ep.write(source, peer, remote));
    },
  };
  const accepted = ep.domain.stats().operations;
  start[what]();
  const settled = Promise.allSettled(inFlight);
  while (ep.domain.stats().operations === accepted && ep.domain.stats().backPressure === 0) {
    await new Promise(setImmediate);
  }
  child.kill('SIGKILL');
  await once(child, 'exit');
  for (const file of readdirSync('/dev/shm')) {
    if (file.startsWith(`${child.pid}:`)) rmSync(`/dev/shm/${file}`, { force: true });
  }

  const before = performance.now();
  await ep.close({ timeout: 500 });
  const took = performance.now() - before;
  const results = await settled;
  const { a, b, peer: other } = others;
  const received = b.recv(new Uint8Array(64));
  await Promise.all([a.send(new Uint8Array(64), other), received]);
  await a.close();
  await b.close();
  console.log(took < 5000, results.length === inFlight.length);
}

await (what === 'victim' ? victim : survivor)();
