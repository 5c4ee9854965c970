// Two processes of one host that exchange a message, a write and a transfer (arguments: provider, action). Prints
// the outcome as JSON: { outcome: 'ok' } or { outcome: CODE, message, hint }. MATRIX_NODE is the command that runs
// the other process, if that is not this one's.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'libfabric';
import { loadSoftefa } from 'libfabric/softefa';
import { TransferEngine } from 'libfabric/transfer';

const [provider, what, role] = process.argv.slice(2);
if (provider === 'efa') {
  const namespace = process.env.MATRIX_NAMESPACE;
  loadSoftefa({ ...(namespace && { namespace }), keep: false, memlock: 'unlimited' });
}
const LENGTH = 200_000; // more than providers copy through their queues
const LIMIT = 60_000; // ms
const limits = { timeout: LIMIT };
const options = { provider, ...(provider === 'tcp' && { node: '127.0.0.1' }) };
const bytesOf = (seed) => new Uint8Array(LENGTH).map((_, i) => i * 7 + seed);
const same = (bytes, seed) => Buffer.compare(bytes, bytesOf(seed)) === 0;
const assert = (condition, text) => {
  if (!condition) throw Object.assign(new Error(text), { code: 'WRONG_BYTES' });
};

/** The peer: it gets a message and a write, and answers. */
async function answer() {
  const ep = await open({ ...options, caps: ['FI_MSG', 'FI_RMA'] });
  const region = await ep.domain.allocate(LENGTH, ['FI_REMOTE_WRITE']);
  const [address] = await tell({ address: ep.address, descriptor: region.descriptor() });
  const back = ep.av.insert(Uint8Array.from(address));
  const into = new Uint8Array(LENGTH);
  await ep.recv(into, null, limits);
  await ep.recv(new Uint8Array(8), null, limits); // the write has completed
  const right = same(into, 1) && same(region.bytes, 2);
  await ep.send(Uint8Array.of(right ? 1 : 0), back, limits);
  await once(process, 'message');
  await ep.close();
}

async function ask(peer) {
  const ep = await open({ ...options, caps: ['FI_MSG', 'FI_RMA'] });
  const { address, descriptor } = await peer.told();
  peer.send([[...ep.address]]);
  const to = ep.av.insert(address);
  await ep.send(bytesOf(1), to, limits);
  const remote = ep.domain.remote(descriptor);
  await ep.write(bytesOf(2), to, remote, { ...limits, flags: ['FI_DELIVERY_COMPLETE'] });
  await ep.send(new Uint8Array(8), to, limits);
  const verdict = new Uint8Array(1);
  await ep.recv(verdict, null, limits);
  assert(verdict[0] === 1, 'the peer has other bytes');
  peer.send('close');
  await ep.close();
}

async function receive() {
  const engine = await TransferEngine.open({ ...options, nics: 1 });
  const [address] = await tell({ address: engine.address });
  const to = await engine.peer(address);
  const memory = await engine.allocate(LENGTH);
  const offer = await memory.offer({ access: 'write', to });
  process.send({ token: offer.token });
  await offer.arrived;
  process.send({ right: same(memory.bytes, 3) });
  await once(process, 'message');
  await engine.close();
}

async function transfer(peer) {
  const engine = await TransferEngine.open({ ...options, nics: 1 });
  const { address } = await peer.told();
  peer.send([engine.address]);
  const to = await engine.peer(address);
  const from = await engine.allocate(LENGTH);
  from.bytes.set(bytesOf(3));
  const { token } = await peer.told();
  await to.write(from, token, { timeout: LIMIT });
  assert((await peer.told()).right, 'the peer has other bytes');
  peer.send('close');
  await engine.close();
}

/** Opens endpoints until the machine has no more room for one, and closes them. The last error is the outcome. */
async function fill() {
  const opened = [];
  try {
    for (let i = 0; i < 200; i++) opened.push(await open(options));
  } finally {
    for (const ep of opened) await ep.close();
  }
}

async function tell(message) {
  const answered = once(process, 'message');
  process.send(message);
  return (await answered)[0];
}

class Peer {
  #child = fork(process.argv[1], [provider, what, 'peer'], {
    execPath: process.env.MATRIX_NODE ?? process.execPath,
    serialization: 'advanced',
  });
  #messages = [];
  #waiting;

  constructor() {
    this.#child.on('message', (message) => {
      this.#messages.push(message);
      this.#waiting?.();
    });
    this.#child.on('exit', (status, signal) => {
      if (status !== 0) this.#messages.push({ failed: { code: signal ?? `EXIT_${status}` } });
      this.#waiting?.();
    });
  }
  async told() {
    while (this.#messages.length === 0) {
      await new Promise((resolve) => {
        this.#waiting = resolve;
      });
    }
    const message = this.#messages.shift();
    if (message.failed) throw message.failed;
    return message;
  }
  send(message) {
    this.#child.send(message);
  }
  end() {
    this.#child.kill('SIGKILL');
  }
}

const asPeer = { exchange: answer, transfer: receive };
const asFirst = { exchange: ask, transfer, fill };

if (role === 'peer') {
  try {
    await asPeer[what]();
  } catch ({ code, message, hint }) {
    process.send({ failed: { code, message, hint } });
  }
  if (process.connected) process.disconnect();
} else {
  const peer = what === 'fill' ? undefined : new Peer();
  let result = { outcome: 'ok' };
  try {
    await asFirst[what](peer);
  } catch ({ code, message, hint }) {
    result = { outcome: code, message, hint };
    peer?.end();
  }
  console.log(JSON.stringify(result));
  process.exit(); // the endpoint that could not be opened must not be closed
}
