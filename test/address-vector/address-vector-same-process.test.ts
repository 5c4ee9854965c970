// Endpoints of one process that share memory, whichever of them sends first. Without the handshake of
// native/objects/shm_handshake.h, shm of libfabric 2.5 to 2.7 loses messages over 4 KiB to the first sender.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type Endpoint, Fabric, open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { combinations } from '../support/cases.js';
import { settle } from '../support/settle.js';
import { available, closing, entryOf } from '../support/transfer.js';
import '../support/softefa.js';

process.env.FI_EFA_ENABLE_SHM_TRANSFER = '1';

/** A message within a command, one within a buffer, and two that are longer. */
const SIZES = [8, 4000, 20_000, 2 << 20];

type Mine = Endpoint<'FI_EP_RDM', 'FI_MSG'>;

/** Sends messages of all sizes from one endpoint to the other, and checks every byte. */
async function transfer(from: Mine, to: Mine): Promise<void> {
  const peer = from.av.insert(to.address);
  for (const size of SIZES) {
    const target = new Uint8Array(size);
    const both = Promise.all([to.recv(target), from.send(pattern(size, size), peer)]);
    await settle(both, from.domain, to.domain);
    expectBytes(target, pattern(size, size));
  }
}

const sharing = combinations.filter(({ provider }) => provider !== 'tcp');

describe.each(sharing)('$provider, $driver driver', ({ provider, driver }) => {
  const opened = async () => closing(await open({ provider, driver, caps: ['FI_MSG'] }));

  test('all messages arrive in both directions, whether or not the second sender knows the first at once', async () => {
    for (const knowsAtOnce of [false, true]) {
      const [a, b] = [await opened(), await opened()];
      if (knowsAtOnce) b.av.insert(a.address);
      await transfer(a, b);
      await transfer(b, a);
      await transfer(a, b);
    }
  });

  test('messages at once in both directions arrive', async () => {
    const [a, b] = [await opened(), await opened()];
    await Promise.all([transfer(a, b), transfer(b, a)]);
  });

  test('an endpoint that is opened on a vector with peers exchanges messages with them', async (context) => {
    context.skip(provider === 'efa', 'a vector of efa is for one endpoint');
    const provName = available(context, provider, ['FI_MSG']);
    const info = entryOf(provName, ['FI_MSG']);
    const domain = closing(Fabric.open(info)).domain(info, { driver });
    const av = domain.addressVector();
    const cq = domain.completionQueue();
    const first = domain.endpoint(info, { av, cq });
    const b = await opened();
    await transfer(first, b);
    await transfer(b, first);
    const second = domain.endpoint(info, { av, cq });
    await transfer(second, b);
    await transfer(b, second);
    await transfer(second, first);
    await transfer(first, second);
  });

  test('an endpoint that sends to itself gets all messages', async () => {
    const a = await opened();
    await transfer(a, a);
  });

  test('each of many endpoints exchanges messages with all others', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, opened));
    for (const each of all) for (const peer of all) each.av.insert(peer.address);
    for (const from of all) for (const to of all) await transfer(from, to);
  });
});

test('threads that insert the addresses of each other at once exchange messages', async () => {
  const source = `
    import { open } from 'libfabric';
    import { parentPort, workerData } from 'node:worker_threads';
    const ep = await open({ provider: 'shm', caps: ['FI_MSG'] });
    parentPort.postMessage(ep.address);
    parentPort.once('message', async (address) => {
      const peer = ep.av.insert(address);
      for (const size of workerData) {
        const target = new Uint8Array(size);
        await Promise.all([ep.recv(target), ep.send(new Uint8Array(size).fill(7), peer)]);
        if (!target.every((byte) => byte === 7)) throw new Error('other bytes');
      }
      parentPort.postMessage('done');
      parentPort.once('message', () => ep.close());
    });`;
  for (let round = 0; round < 5; round++) {
    const workers = [0, 1].map(
      () =>
        new Worker(source, { eval: true, workerData: SIZES, execArgv: ['--input-type=module'] }),
    );
    const said = () => Promise.all(workers.map(async (each) => (await once(each, 'message'))[0]));
    const [one, other] = await said();
    const done = said();
    workers[0]?.postMessage(other);
    workers[1]?.postMessage(one);
    expect(await settle(done)).toEqual(['done', 'done']);
    const exits = workers.map((each) => once(each, 'exit'));
    for (const each of workers) each.postMessage('close');
    await settle(Promise.all(exits));
  }
});
