// The traffic between the survivor and the victim of a round.
import { opened } from './conditions.mjs';

/** The timeout of each operation in ms. */
export const TIMEOUT = 200;

const LONG_TIMEOUT = 5000; // timeout in ms of operations that must complete
const REGION = 2 ** 20;
const SMALL = 64;
const PIECE = 2 ** 16; // bytes of a write or a read
const PIECE_COUNT = 4; // number of operations of a piece of traffic that must complete

/** The region that a peer writes to and reads. */
export const regionOf = (endpoint) =>
  endpoint.domain.allocate(REGION, ['FI_REMOTE_WRITE', 'FI_REMOTE_READ']);

// Resolves or rejects when all promises have settled.
async function all(promises) {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

/** The traffic of one side. */
export class Traffic {
  #round;
  #acts;
  #endpoint;
  #peer;
  #remote;
  #settlements;
  #streaming = false;

  /**
   * @param acts whether this side performs the action; otherwise it responds to the peer
   * @param settlements records every operation
   */
  constructor(round, acts, endpoint, { address, descriptor }, settlements) {
    this.#round = round;
    this.#acts = acts;
    this.#endpoint = endpoint;
    this.#peer = endpoint.av.insert(address);
    this.#remote = endpoint.domain.remote(descriptor);
    this.#settlements = settlements;
  }

  /** Sends and receives a message, so that the handshake with the peer is done. */
  handshake() {
    const [send, receive] = [
      this.#start('send', 8, LONG_TIMEOUT),
      this.#start('receive', 8, LONG_TIMEOUT),
    ];
    return all([send, receive]);
  }

  /** Keeps operations outstanding until stop(), or until they fail. */
  stream() {
    this.#streaming = true;
    for (const { kind, bytes, window } of this.#kinds()) {
      for (let i = 0; i < window; i++) this.#repeat(kind, bytes);
    }
  }

  stop() {
    this.#streaming = false;
  }

  get streaming() {
    return this.#streaming;
  }

  /** Runs a few operations that must complete. */
  async piece() {
    if (this.#round.action === 'close') return;
    const operations = this.#kinds().flatMap(({ kind, bytes }) =>
      Array.from({ length: PIECE_COUNT }, () => this.#start(kind, bytes, LONG_TIMEOUT)),
    );
    await all(operations);
  }

  // The kinds of operations that this side keeps outstanding.
  #kinds() {
    const { action, bytes, rma } = this.#round;
    const small = (kind, window) => ({ kind, bytes: SMALL, window });
    if (action === 'rma') return this.#acts ? [{ kind: rma, bytes: PIECE, window: 4 }] : [];
    // Operations that a close() must end, because the peer does not respond.
    if (action === 'close') {
      const large = { kind: 'send', bytes, window: 1 };
      return this.#acts ? [small('send', 4), large, small('receive', 4)] : [];
    }
    const sends = this.#acts === (action !== 'receive');
    const kind = sends ? 'send' : 'receive';
    return [action === 'large' ? { kind, bytes, window: 2 } : small(kind, sends ? 8 : 16)];
  }

  async #repeat(kind, bytes) {
    try {
      do await this.#start(kind, bytes, TIMEOUT);
      while (this.#streaming);
    } catch {
      // The peer has exited, or nothing arrived.
    }
  }

  #start(kind, bytes, timeout) {
    const buffer = new Uint8Array(bytes);
    const options = { timeout };
    const operations = {
      send: () => this.#endpoint.send(buffer, this.#peer, options),
      receive: () => this.#endpoint.recv(buffer, null, options),
      write: () => this.#endpoint.write(buffer, this.#peer, this.#remote, options),
      read: () => this.#endpoint.read(buffer, this.#peer, this.#remote, options),
    };
    return this.#settlements.add(`${kind} of ${bytes} bytes`, operations[kind](), timeout);
  }
}

/** Sends a peer a message from a new endpoint. */
export function sendFromNew(endpoint, { address }, settlements) {
  try {
    const peer = endpoint.av.insert(address);
    const sent = endpoint.send(new Uint8Array(SMALL), peer, { timeout: TIMEOUT });
    settlements.add('send of a new endpoint', sent, TIMEOUT).catch(() => {});
  } catch (error) {
    if (error.code !== 'FI_EADDRNOTAVAIL') throw error; // the peer has exited
  }
}

/** Opens an endpoint like those of rounds, transfers a message, and closes it. */
export async function openAndTransfer(provider, driver) {
  const endpoint = await opened(provider, driver);
  const region = await regionOf(endpoint);
  const options = { timeout: LONG_TIMEOUT };
  const received = endpoint.recv(new Uint8Array(SMALL), null, options);
  const sent = endpoint.send(new Uint8Array(SMALL), endpoint.av.insert(endpoint.address), options);
  try {
    await Promise.all([received, sent]);
  } finally {
    await Promise.allSettled([received, sent]);
    await region.close();
    await endpoint.close({ timeout: 100 });
  }
}
