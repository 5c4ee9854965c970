// A server finds its client among all processes that connect, and limits the number and the lifetime of the others.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OobSocket } from '../../dist/cli/fabtests/common/oob.js';
import { PeerLink, PeerListener } from '../../dist/cli/fabtests/common/peer-link.js';
import { Candidates, type CandidatesOptions } from '../../dist/cli/shared/candidates.js';
import {
  UnidentifiedConnections,
  type UnidentifiedOptions,
} from '../../dist/cli/shared/unidentified-connections.js';
import { HANG_MS } from '../support/limits.js';
import { closed, crowd, GARBAGE, stranger } from '../support/strangers.js';

const state = async (promise: Promise<unknown>) => {
  await new Promise(setImmediate);
  return Promise.race([
    promise.then(
      () => 'settled',
      () => 'failed',
    ),
    Promise.resolve('pending'),
  ]);
};

describe('candidates', () => {
  /** A process that sends `c` may be the client, and `k` proves it. */
  async function waiting(more: Partial<CandidatesOptions> = {}) {
    const dismissed: string[] = [];
    const candidates = await Candidates.listen((socket) => new OobSocket(socket), {
      ...{ port: 0, host: '127.0.0.1', lifetime: HANG_MS },
      dismissed: (address, { message }) => void dismissed.push(`${address}: ${message}`),
      ...more,
    });
    onTestFinished(() => candidates.close());
    const met: OobSocket[] = [];
    const proof = {
      begins: async (candidate: OobSocket) => {
        if (String(await candidate.peek(1)) !== 'c') throw new Error('it does not begin with c');
      },
      meets: async (candidate: OobSocket) => {
        met.push(candidate);
        candidate.send(Buffer.from('hello'));
        if (String((await candidate.receive(2)).subarray(1)) !== 'k') throw new Error('no k');
        return 'proved';
      },
    };
    return { candidates, proof, met, dismissed };
  }

  test('the first candidate that proves to be the client is accepted, and the others may be the next client', async () => {
    const { candidates, proof, dismissed } = await waiting();
    const [silent, wrong, late] = await Promise.all([
      stranger(candidates.port),
      stranger(candidates.port, Buffer.from('xx')),
      stranger(candidates.port, Buffer.from('c')),
    ]);
    const meeting = candidates.client(proof);
    await closed(wrong);
    late.write('k');
    expect((await meeting)[1]).toBe('proved');
    expect(dismissed).toEqual(['127.0.0.1: it does not begin with c']);
    const next = candidates.client(proof);
    silent.write('ck');
    expect((await next)[1]).toBe('proved');
  });

  test('candidates take turns, and one that does not answer is dropped only if another one waits', async () => {
    const { candidates, proof, met, dismissed } = await waiting();
    const meeting = candidates.client(proof);
    const slow = await stranger(candidates.port, Buffer.from('c'));
    await once(slow, 'data');
    expect(met).toHaveLength(1);
    const second = await stranger(candidates.port, Buffer.from('c'));
    await closed(slow);
    expect(dismissed).toEqual(['127.0.0.1: it does not answer']);
    await once(second, 'data');
    expect(await state(meeting)).toBe('pending');
    second.write('k');
    expect((await meeting)[1]).toBe('proved');
    expect(met).toHaveLength(2);
  });

  test('after the client, no other candidate gets a handshake', async () => {
    const { candidates, proof, met } = await waiting();
    const both = await Promise.all(
      ['ck', 'ck'].map((text) => stranger(candidates.port, Buffer.from(text))),
    );
    await candidates.client(proof);
    expect(met).toHaveLength(1);
    await candidates.client(proof);
    expect(met).toHaveLength(2);
    expect(both).toHaveLength(2);
  });

  test('a signal and close() end the wait with the reason, and all connections', async () => {
    const control = new AbortController();
    const { candidates, proof } = await waiting({ signal: control.signal });
    const socket = await stranger(candidates.port);
    const meeting = candidates.client(proof);
    control.abort(new Error('interrupted'));
    await expect(meeting).rejects.toThrow('interrupted');
    await closed(socket);
    await expect(candidates.client(proof)).rejects.toThrow('interrupted');
  });

  test('a candidate that sends nothing in time is disconnected with the reason', async () => {
    const { candidates, proof, dismissed } = await waiting({ lifetime: 50 });
    candidates.client(proof).catch(() => {});
    await closed(await stranger(candidates.port));
    await expect
      .poll(() => dismissed, { timeout: HANG_MS })
      .toEqual(['127.0.0.1: it has not identified itself in time']);
  });
});

describe('unidentified connections', () => {
  async function server(options: Partial<UnidentifiedOptions>) {
    const connections = new UnidentifiedConnections({ most: 1000, lifetime: HANG_MS, ...options });
    const accepted: Socket[] = [];
    const tcp = createServer((socket) => {
      socket.on('error', () => {}).resume();
      accepted.push(socket);
      connections.add(socket);
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void tcp.close());
    await once(tcp, 'listening');
    return { port: (tcp.address() as AddressInfo).port, connections, accepted };
  }

  test('if there are too many, the oldest that have sent nothing are closed, and no identified one', async () => {
    const { port, connections, accepted } = await server({ most: 20 });
    const known = await stranger(port);
    const talking = await stranger(port, Buffer.from('x'));
    await expect.poll(() => accepted[1]?.bytesRead, { timeout: HANG_MS }).toBe(1);
    connections.recognize(accepted[0] as Socket);
    const silent = [];
    for (let i = 0; i < 40; i++) silent.push(await stranger(port));
    await Promise.all(silent.slice(0, 21).map(closed));
    expect(connections.size).toBe(20);
    expect([known, talking, ...silent.slice(21)].some(({ closed: is }) => is)).toBe(false);
  });

  test('all of a burst are read before any is disconnected', async () => {
    const { port, connections, accepted } = await server({ most: 10 });
    await Promise.all(Array.from({ length: 60 }, () => stranger(port, Buffer.from('x'))));
    await expect.poll(() => accepted.length, { timeout: HANG_MS }).toBe(60);
    await expect.poll(() => connections.size, { timeout: HANG_MS }).toBe(10);
    expect(accepted.map(({ bytesRead }) => bytesRead)).toEqual(new Array(60).fill(1));
  });

  test('a connection that gets more time has one listener', async () => {
    const { port, connections, accepted } = await server({});
    await stranger(port);
    const [socket] = accepted as [Socket];
    const before = socket.listenerCount('close');
    for (let i = 0; i < 20; i++) connections.add(socket);
    expect(socket.listenerCount('close')).toBe(before);
  });
});

test('the link to the peer accepts only a process that sends the token', async () => {
  const listener = await PeerListener.open();
  onTestFinished(() => listener.close());
  for (const bytes of Object.values(GARBAGE)) await stranger(listener.port, bytes);
  await crowd(listener.port, 100);
  const wrong = await PeerLink.connect('127.0.0.1', listener.port, listener.token + 1n);
  await wrong?.closed;
  expect(wrong?.ended).toBe('it has not sent the token of this server');
  const right = await PeerLink.connect('127.0.0.1', listener.port, listener.token);
  await listener.accept();
  listener.link?.send('note');
  expect(await right?.receive()).toBe('note');
  right?.close();
});
