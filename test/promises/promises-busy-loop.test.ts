// A time limit that expires while the event loop is busy does not end a call whose answer has come in time. In each case the
// answer comes after 30 ms, the limit is 100, and the event loop is blocked for 250.
import '../support/softefa.js';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { Worker } from 'node:worker_threads';
import { open } from 'libfabric';
import { ObjectClient } from 'libfabric/objects';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { Arrivals } from '../../dist/base/arrivals.js';
import { TimeLimit } from '../../dist/base/time-limit.js';
import { Timeouts } from '../../dist/base/timeouts.js';
import { within } from '../../dist/base/wait-options.js';
import { Agents, askJson } from '../../dist/directory/http.js';
import { agree, TERMS } from '../../dist/net/agreement.js';
import { connect } from '../../dist/net/index.js';
import { enginePair } from '../support/engines.js';
import { block } from '../support/event-loop.js';
import { HOST } from '../support/net-pair.js';
import { TCP } from '../support/object-stores.js';
import { closing } from '../support/transfer.js';

const LIMIT = 100; // ms
const BLOCKED = 250; // ms

interface Ports {
  readonly http: number;
  readonly sockets: number;
}

/** A thread that answers while the event loop is blocked. */
const worker = new Worker(new URL('../programs/answering-server.mjs', import.meta.url));
const [{ http, sockets }] = (await once(worker, 'message')) as [Ports];
afterAll(() => worker.terminate());

/** Blocks the event loop until after the limit, once the request has left. */
async function busy<T>(answer: Promise<T>, milliseconds = BLOCKED): Promise<T> {
  answer.catch(() => {});
  await new Promise((resolve) => setImmediate(resolve));
  block(milliseconds);
  return answer;
}

/** Repeats a call that has a limit until it succeeds once: on a busy machine, it may be late. */
async function succeeding<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (tries === 10) throw error;
    }
  }
}

/** Calls whose answers come in time. They reject or resolve with 'late' if the limit has ended them. */
const CASES: Readonly<Record<string, () => Promise<unknown>>> = {
  'TimeLimit, which most limits are': async () => {
    const answer = new Promise((resolve, reject) => {
      const limit = new TimeLimit(LIMIT, () => reject(new Error('late')));
      worker.once('message', (message) => {
        limit.clear();
        resolve(message);
      });
    });
    worker.postMessage('question');
    return busy(answer);
  },
  'Timeouts, which those of operations and transfers are': async () => {
    const answer = new Promise((resolve, reject) => {
      const timeouts = new Timeouts<string>(() => reject(new Error('late')), true);
      timeouts.add('call', LIMIT);
      worker.once('message', (message) => {
        timeouts.delete('call');
        resolve(message);
      });
    });
    worker.postMessage('question');
    return busy(answer);
  },
  'the timeout of a wait': async () => {
    const answer = once(worker, 'message');
    worker.postMessage('question');
    return busy(within(answer, { signal: undefined, timeout: LIMIT }, 'call'));
  },
  'the timeout of an iterator': async () => {
    const arrivals = new Arrivals<string>({ overdue: () => new Error('late') }, { timeout: LIMIT });
    worker.on('message', (message) => arrivals.push(message));
    worker.postMessage('question');
    return busy(arrivals.take());
  },
  'a receive': async () => {
    const options = { provider: 'shm', caps: ['FI_MSG'] } as const;
    const [a, b] = [closing(await open(options)), closing(await open(options))];
    const received = a.recv(new Uint8Array(8), null, { timeout: LIMIT });
    await b.send(new Uint8Array(8), b.av.insert(a.address));
    return busy(received);
  },
  'a transfer, and the offer that it uses': async () => {
    const { a, b, toB, toA } = await enginePair({ ...TCP, nics: 1 });
    const [from, into] = [await b.allocate(4096), await a.allocate(4096)];
    await toA.write(from, (await into.offer({ access: 'write', to: toB })).token); // connects
    const offer = await into.offer({ access: 'write', to: toB, expires: 3 * LIMIT });
    const written = toA.write(from, offer.token, { timeout: 3 * LIMIT });
    return busy(Promise.all([written, offer.arrived]), 6 * LIMIT);
  },
  'the agreement of a session': async () => {
    const control = connectTcp(sockets, HOST);
    onTestFinished(() => void control.destroy());
    await once(control, 'connect');
    const proposal = {
      session: 1,
      terms: TERMS,
      role: 'client',
      isPlain: false,
      timeout: LIMIT,
    } as const;
    return busy(agree(control, proposal));
  },
  'connect()': async () => {
    const socket = connect({ host: HOST, port: sockets, connectTimeout: LIMIT });
    onTestFinished(() => void socket.destroy());
    return busy(once(socket, 'connect'));
  },
  'the timeout of a socket': async () => {
    const socket = connect({ host: HOST, port: sockets });
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    const answer = new Promise((resolve, reject) => {
      socket.setTimeout(LIMIT, () => reject(new Error('late')));
      socket.once('data', resolve);
    });
    socket.write('question');
    return busy(answer);
  },
  'a request of a client of objects': async () => {
    const client = new ObjectClient(`http://${HOST}:${http}/b`, { timeout: LIMIT });
    onTestFinished(() => client.close());
    await succeeding(() => client.get('key')); // leaves a connection
    return busy(client.get('key'));
  },
  'the same by fetch()': async () => {
    const client = new ObjectClient(`http://${HOST}:${http}/b`, { timeout: LIMIT, fetch });
    onTestFinished(() => client.close());
    await succeeding(() => client.get('key'));
    return busy(client.get('key'));
  },
  'a request of a directory': async () => {
    const agents = new Agents();
    onTestFinished(() => agents.close());
    const ask = () => askJson(new URL(`http://${HOST}:${http}/`), { agents, timeout: LIMIT });
    await succeeding(ask);
    return busy(ask());
  },
};

test.each(Object.entries(CASES))('%s', async (_name, answer) => {
  await expect(answer()).resolves.toBeDefined();
});

test('an agreement has a second, however long the event loop was busy while TCP connected', async () => {
  const socket = connect({ host: HOST, port: sockets, connectTimeout: 1000 });
  onTestFinished(() => void socket.destroy());
  block(1100);
  await once(socket, 'connect');
  expect(socket.path).toBe('control');
});

test('a call without an answer ends, although the event loop was busy', async () => {
  const never = new Promise(() => {});
  const late = within(never, { signal: undefined, timeout: LIMIT }, 'call');
  await expect(busy(late)).rejects.toMatchObject({ code: 'FI_ETIMEDOUT' });
});
