// The latency that a service gets: a ping-pong with a promise for each message, driven by the thread of the endpoint's
// domain.

import { type Endpoint, open, type Peer } from '../../index.js';
import type { OobSocket } from '../fabtests/common/oob.js';

const SIZE = 64;
const WARM_UP = 200;
const ROUNDS = 4000;
// The most seconds of the warm-up, and of the rounds. They matter on a busy machine, where a round takes milliseconds.
const MOST_SECONDS = 1;
/** The bytes of a message. */
const Byte = { request: 1, answer: 2, lastRequest: 3 } as const;
const ADDRESS_LENGTH = 4; // bytes of the length before an address

/** Runs one side. Returns the microseconds of half a round trip; at the server, 0. */
export async function measureService(
  oob: OobSocket,
  side: 'client' | 'server',
  provider: string,
): Promise<number> {
  const network = provider === 'tcp' ? { node: '127.0.0.1' } : {};
  await using endpoint = await open({ provider, caps: ['FI_MSG'], ...network });
  const peer = endpoint.av.insert(await exchange(oob, endpoint.address));
  const into = new Uint8Array(SIZE);
  const received = endpoint.recv(into);
  await exchange(oob, new Uint8Array(0)); // both have posted a receive
  const talk = side === 'client' ? ask : answer;
  const microseconds = await talk({ endpoint, peer, into, received });
  await exchange(oob, new Uint8Array(0)); // neither closes before the other has its last message
  return microseconds;
}

interface Side {
  readonly endpoint: Endpoint<'FI_EP_RDM', 'FI_MSG'>;
  readonly peer: Peer;
  readonly into: Uint8Array;
  /** The receive of the first message. */
  readonly received: Promise<unknown>;
}

/** The client: sends requests, and measures how long the answers take. */
async function ask({ endpoint, peer, into, received: first }: Side): Promise<number> {
  const request = new Uint8Array(SIZE);
  let received = first;
  const until = async (rounds: number, last: number) => {
    const begin = performance.now();
    for (let round = 1; ; round++) {
      const ends = round === rounds || performance.now() - begin > 1000 * MOST_SECONDS;
      request.fill(ends ? last : Byte.request);
      await endpoint.send(request, peer);
      await received;
      if (into[0] !== Byte.answer) throw new Error('a message arrived with wrong bytes');
      const ended = ends && last === Byte.lastRequest;
      if (!ended) received = endpoint.recv(into);
      if (ends) return (1000 * (performance.now() - begin)) / (2 * round);
    }
  };
  await until(WARM_UP, Byte.request);
  return until(ROUNDS, Byte.lastRequest);
}

/** The server: answers until the last request. */
async function answer({ endpoint, peer, into, received: first }: Side): Promise<number> {
  const message = new Uint8Array(SIZE).fill(Byte.answer);
  let received = first;
  for (;;) {
    await received;
    const ends = into[0] === Byte.lastRequest;
    if (!ends && into[0] !== Byte.request) throw new Error('a message arrived with wrong bytes');
    if (!ends) received = endpoint.recv(into);
    await endpoint.send(message, peer);
    if (ends) return 0;
  }
}

/** Sends bytes to the other side, and returns those that it sends. */
async function exchange(oob: OobSocket, bytes: Uint8Array): Promise<Uint8Array> {
  const length = Buffer.alloc(ADDRESS_LENGTH);
  length.writeUInt32LE(bytes.length);
  oob.send(Buffer.concat([length, bytes]));
  return oob.receive((await oob.receive(ADDRESS_LENGTH)).readUInt32LE());
}
