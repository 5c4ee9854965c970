// What a service sees: a ping-pong with a promise for each message, driven by the thread of the endpoint's domain.
import type { OobSocket } from '../cli/fabtests/common/oob.js';
import { open } from '../index.js';

const SIZE = 64;
const WARM_UP = 200;
const ROUNDS = 4000;
const ADDRESS_LENGTH = 4; // bytes of the length before an address

/** Runs one side. Returns the microseconds of half a round trip. */
export async function measureService(
  oob: OobSocket,
  side: 'client' | 'server',
  provider: string,
): Promise<number> {
  const network = provider === 'tcp' ? { node: '127.0.0.1' } : {};
  await using endpoint = await open({ provider, caps: ['FI_MSG'], ...network });
  const peer = endpoint.av.insert(await exchange(oob, endpoint.address));
  const message = new Uint8Array(SIZE).fill(side === 'client' ? 1 : 2);
  const answer = new Uint8Array(SIZE);
  const receive = () => endpoint.recv(answer);
  let received = receive();
  await exchange(oob, new Uint8Array(0)); // both have posted a receive
  let start = 0;
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    if (round === WARM_UP) start = performance.now();
    if (side === 'client') await endpoint.send(message, peer);
    await received;
    if (answer[0] === message[0]) throw new Error('a message arrived with wrong bytes');
    received = receive();
    if (side === 'server') await endpoint.send(message, peer);
  }
  const microseconds = (performance.now() - start) * 1000;
  await exchange(oob, new Uint8Array(0)); // neither closes before the other has its last message
  received.catch(() => {}); // cancelled when the endpoint closes
  return microseconds / (2 * ROUNDS);
}

/** Sends bytes to the other side, and returns those that it sends. */
async function exchange(oob: OobSocket, bytes: Uint8Array): Promise<Uint8Array> {
  const length = Buffer.alloc(ADDRESS_LENGTH);
  length.writeUInt32LE(bytes.length);
  oob.send(Buffer.concat([length, bytes]));
  return oob.receive((await oob.receive(ADDRESS_LENGTH)).readUInt32LE());
}
