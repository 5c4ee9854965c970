// An endpoint or a transfer engine that waits, and lets the process end or not. The event comes by a
// timer that does not keep the process alive, so the process prints it only if something else keeps it alive.
//
// Usage: unref.mjs PROVIDER DRIVER HOW WAITS (driver `transfer`: a transfer engine)
import { setTimeout as after } from 'node:timers/promises';
import { open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';

const [provider, driver, how, waits] = process.argv.slice(2);
const place = { provider, ...(provider === 'tcp' && { node: '127.0.0.1' }) };
const HOURS = 4 * 3_600_000;

const said = [];
const kept = []; // an endpoint that is collected warns
process.on('exit', () => console.log(said.join(' ') || 'nothing'));
const later = (act) => after(300, undefined, { ref: false }).then(act);
const say = (promise) => promise.then((text) => said.push(text));

/** Calls unref() and ref() in the way that the test names. */
const METHODS = {
  unref: (object) => object.unref(),
  ref: (object) => object,
  again: (object) => object.unref().unref().ref(),
};

async function waitWithEndpoint() {
  const ep = await open({
    ...place,
    driver,
    caps: ['FI_MSG', 'FI_RMA', 'FI_MULTI_RECV'],
    counters: { received: ['FI_RECV'] },
  }).catch(() => open({ ...place, driver, caps: ['FI_MSG', 'FI_RMA', 'FI_MULTI_RECV'] }));
  kept.push(ep);
  const self = ep.av.insert(ep.address);
  const batch = ep.batch();
  batch.recv(new Uint8Array(8));
  const stop = new AbortController();
  const { signal } = stop;
  /** Waits for an event that never occurs, until a message has arrived. */
  const untilReceived = async (nothing) => {
    nothing.catch(() => {});
    await ep.recv(new Uint8Array(8));
    stop.abort();
  };
  const first = async (stream) => {
    await stream.next();
    await stream.return();
  };
  const WAITS = {
    recv: () => ep.recv(new Uint8Array(8)),
    short: () => ep.recv(new Uint8Array(8), null, { timeout: 50 }).catch(() => {}),
    timeout: () => ep.recv(new Uint8Array(8), null, { timeout: HOURS }),
    signal: () => ep.recv(new Uint8Array(8), null, { signal }),
    batch: () => batch.submit(),
    messages: () => first(ep.messages()),
    messagesTimeout: () => first(ep.messages({ timeout: HOURS })),
    multiRecv: () => first(ep.multiRecv(new Uint8Array(65_536), { timeout: HOURS })),
    arrived: () => untilReceived(ep.receiveQueue.arrived(1, 1, { timeout: HOURS, signal })),
    immediates: () => untilReceived(ep.receiveQueue.immediates({ timeout: HOURS, signal }).next()),
    counter: () => Promise.all([ep.counters.received.wait(1), ep.recv(new Uint8Array(8))]),
  };
  say(WAITS[waits]().then(() => 'received'));
  METHODS[how](ep);
  later(() => ep.send(new Uint8Array(8), self));
}

/** Two endpoints of one domain, of which the first waits. */
async function waitWithTwo() {
  const one = await open({ ...place, driver });
  const { domain, info } = one;
  const [av, cq] = [domain.addressVector(), domain.completionQueue()];
  const other = domain.endpoint(info, { av, cq });
  say(one.recv(new Uint8Array(8)).then(() => 'received'));
  const peer = av.insert(one.address);
  if (how !== 'closed') later(() => other.send(new Uint8Array(8), peer));
  const WHICH = { first: [one], both: [one, other], closed: [one] };
  for (const each of WHICH[how]) each.unref();
  if (how === 'closed') await other.close();
}

/** close() ends although unref() was called. A message to a silent peer is in flight. */
async function close() {
  const ep = await open({ ...place, driver });
  const silent = await open({ ...place, driver });
  const peer = ep.av.insert(silent.address);
  const settled = () => 'settled'; // some providers send early
  say(ep.send(new Uint8Array(1 << 22), peer).then(settled, settled));
  ep.unref();
  silent.unref();
  await ep.close({ timeout: 200 });
  await silent.close();
  said.push('closed');
}

async function waitWithEngine() {
  const options = { ...place, ...(provider === 'efa' && { nics: 1 }) };
  const engine = await TransferEngine.open(options);
  const other = await TransferEngine.open(options);
  const remote = await engine.peer(other.address);
  const back = await other.peer(engine.address);
  const memory = await engine.allocate(4096);
  const theirs = await other.allocate(4096);
  const WAITS = {
    offer: async () => {
      const { token, arrived } = await memory.offer({
        access: 'write',
        to: remote,
        expires: HOURS,
      });
      later(() => back.write(theirs, token));
      return arrived;
    },
    notes: async () => {
      later(() => back.notify(Buffer.from('now')));
      return engine.notifications().next();
    },
    barrier: async () => {
      later(() => other.group([back]).barrier());
      return engine.group([remote]).barrier({ timeout: HOURS });
    },
    close: async () => {
      await memory.offer({ access: 'write', to: remote, expires: HOURS });
      METHODS.unref(engine);
      await Promise.all([engine.close(), other.close()]);
    },
  };
  say(WAITS[waits]().then(() => 'received'));
  await new Promise(setImmediate);
  METHODS[how](engine);
  other.unref();
}

if (waits === 'two') await waitWithTwo();
else if (waits === 'closing') await close();
else if (driver === 'transfer') await waitWithEngine();
else await waitWithEndpoint();
