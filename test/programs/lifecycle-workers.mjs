// Workers with endpoints of their own. Arguments: provider, driver, how, and how many times.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const [provider, driver, how, times] = workerData?.args ?? process.argv.slice(2);
const ROUNDS = 50;

function start(role) {
  return new Worker(fileURLToPath(import.meta.url), {
    workerData: { role, args: [provider, driver, how] },
  });
}

// Each worker sends ROUNDS numbered messages to every worker, including itself, and checks the messages that arrive.
// It sends the first message only after all workers have inserted all addresses, because shm (1.17) reports a sender
// that is not inserted as another peer.
async function exchangeAll(ep, addresses, me, everyone) {
  const { turn } = await import('./lifecycle-busy.mjs');
  turn(ep);
  const peers = addresses.map((address) => ep.av.insert(address));
  await everyone();
  const expected = ROUNDS * peers.length;
  const seen = addresses.map(() => 0);
  const receive = async () => {
    const buffer = new Uint32Array(1024);
    const { length } = await ep.recv(buffer);
    const [from, round] = buffer;
    const right = buffer.every((word, i) => i < 2 || word === from * 1000 + round + i);
    if (length !== 4096 || round !== seen[from] || !right) throw new Error(`bad from ${from}`);
    seen[from]++;
  };
  const received = (async () => {
    for (let i = 0; i < expected; i++) await receive();
  })();
  for (let round = 0; round < ROUNDS; round++) {
    const message = Uint32Array.from({ length: 1024 }, (_, i) =>
      i === 0 ? me : i === 1 ? round : me * 1000 + round + i,
    );
    await Promise.all(peers.map((peer) => ep.send(message, peer)));
  }
  await received;
  return seen.join();
}

const roles = {
  participant: async () => {
    const { open } = await import('libfabric');
    const ep = await open({ provider, driver, caps: ['FI_MSG'] });
    parentPort.postMessage(ep.address);
    const [{ addresses, me }] = await once(parentPort, 'message');
    const everyone = async () => {
      parentPort.postMessage('inserted');
      await once(parentPort, 'message');
    };
    parentPort.postMessage(await exchangeAll(ep, addresses, me, everyone));
    await once(parentPort, 'message');
    await ep.close();
  },
  // Completes the handshake, and then receives at most 100 messages.
  listener: async () => {
    const { open } = await import('libfabric');
    const { turn } = await import('./lifecycle-busy.mjs');
    const ep = await open({ provider, driver, caps: ['FI_MSG'] });
    turn(ep);
    for (let i = 0; i < 100; i++) ep.recv(new Uint8Array(64)).catch(() => {});
    parentPort.postMessage(ep.address);
    const [address] = await once(parentPort, 'message');
    await ep.send(new Uint8Array(64), ep.av.insert(address));
    await once(parentPort, 'message');
  },
  loader: async () => {
    const { version } = await import('libfabric');
    parentPort.postMessage(version().major);
  },
  busy: async () => {
    const { busy } = await import('./lifecycle-busy.mjs');
    await busy(provider, driver);
    parentPort.postMessage('busy');
  },
};

const ways = {
  exchangeAll: async () => {
    const { open } = await import('libfabric');
    const ep = await open({ provider, driver, caps: ['FI_MSG'] });
    const workers = [start('participant'), start('participant')];
    const opened = await Promise.all(workers.map((worker) => once(worker, 'message')));
    const addresses = [ep.address, ...opened.map(([address]) => address)];
    const inserted = workers.map((worker) => once(worker, 'message'));
    for (const [i, worker] of workers.entries()) worker.postMessage({ addresses, me: i + 1 });
    let ends = [];
    const everyone = async () => {
      await Promise.all(inserted);
      ends = workers.map((worker) => once(worker, 'message'));
      for (const worker of workers) worker.postMessage('go');
    };
    console.log(await exchangeAll(ep, addresses, 0, everyone));
    for (const [end] of await Promise.all(ends)) console.log(end);
    // No worker ends while another may still have to read its messages.
    for (const worker of workers) worker.postMessage('leave');
    await Promise.all(workers.map((worker) => once(worker, 'exit')));
    await ep.close();
  },
  terminate: async () => {
    const { pair } = await import('./lifecycle-busy.mjs');
    const { a, b, peer } = await pair(provider, driver);
    for (let i = 0; i < times; i++) {
      const workers = [start('busy'), start('busy')];
      await Promise.all(workers.map((worker) => once(worker, 'message')));
      const received = b.recv(new Uint8Array(4096));
      const ended = workers.map((worker) => worker.terminate());
      await a.send(new Uint8Array(4096), peer);
      await received;
      const codes = await Promise.all(ended);
      if (codes.some((code) => code !== 1)) throw new Error(`workers ended with ${codes}`);
    }
    await a.close();
    await b.close();
    console.log(`${times} pairs ended`);
  },
  // The peer of operations in flight disappears with its worker.
  abandon: async () => {
    const { pair, turn } = await import('./lifecycle-busy.mjs');
    const { open } = await import('libfabric');
    const { a, b, peer } = await pair(provider, driver);
    for (let i = 0; i < 5; i++) {
      const worker = start('listener');
      const [address] = await once(worker, 'message');
      const ep = await open({ provider, driver, caps: ['FI_MSG'] });
      turn(ep);
      const peerOfWorker = ep.av.insert(address);
      worker.postMessage(ep.address);
      await Promise.all([ep.recv(new Uint8Array(64)), ep.send(new Uint8Array(64), peerOfWorker)]);
      const sends = Array.from({ length: 5000 }, () => ep.send(new Uint8Array(64), peerOfWorker));
      const receives = Array.from({ length: 100 }, () => ep.recv(new Uint8Array(4096)));
      const settled = Promise.allSettled([...sends, ...receives]);
      await worker.terminate();
      await ep.close({ timeout: 100 });
      await settled;
      const received = b.recv(new Uint8Array(64));
      await a.send(new Uint8Array(64), peer);
      await received;
    }
    await a.close();
    await b.close();
    console.log('5 abandoned');
  },
  first: async () => {
    const worker = start('loader');
    const [major] = await once(worker, 'message');
    await once(worker, 'exit');
    const { open, version } = await import('libfabric');
    const ep = await open({ provider, driver });
    await ep.close();
    console.log(version().major === major);
  },
  both: async () => {
    const workers = [start('loader'), start('loader'), start('busy'), start('busy')];
    const messages = await Promise.all(workers.map((worker) => once(worker, 'message')));
    await Promise.all(workers.slice(2).map((worker) => worker.terminate()));
    console.log(messages[0][0] === messages[1][0]);
  },
};

if (isMainThread) await ways[how]();
else await roles[workerData.role]();
