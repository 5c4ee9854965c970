import { checkBytes, checkInteger, checkString, oneOf } from './checks.js';
import { publishClose, publishOpen } from './diagnostics.js';
import type { Engine } from './engine/engine.js';
import { Op } from './engine/layout.js';
import { Kind } from './engine/requests.js';
import {
  closed,
  type FabricError,
  invalidArgType,
  invalidArgValue,
  offLoop,
  outOfRange,
  startAtCaller,
} from './errors.js';
import type { AddrFormat } from './flags.js';
import { type Handle, native } from './native.js';
import { Peer } from './peer.js';
import { checkWait, type WaitOptions, within } from './wait-options.js';

/** What an address vector is opened with: fi_av_open, fi_av(3). */
export interface AddressVectorOptions {
  /** How the provider keeps addresses; its own choice when left out. */
  readonly type?: 'FI_AV_TABLE' | 'FI_AV_MAP' | 'FI_AV_UNSPEC';
  /** How many addresses to expect. */
  readonly count?: number;
}

const TYPES = ['FI_AV_TABLE', 'FI_AV_MAP', 'FI_AV_UNSPEC'] as const;
// Of a domain: the engine's table holds no more.
const MAX_PEERS = 2 ** 20;
const MAX_NAME = 1024;
const MAX_ADDRESS = 4096;
// Peers that are made in one turn of the event loop: 1 ms.
const AT_ONCE = 4096;

function checkName(name: string, value: unknown): string {
  const text = checkString(name, value);
  if (text === '') throw invalidArgValue(name, 'is empty');
  if (text.length > MAX_NAME) throw invalidArgValue(name, `is longer than ${MAX_NAME} characters`);
  return text;
}

/** The bytes of an address, which a string address (FI_ADDR_STR) may be given as text. */
function addressBytes(address: unknown, name = 'address', copied = true): Uint8Array {
  if (typeof address !== 'string') {
    const bytes = checkBytes(name, address);
    // Shared memory could change between the check and the use.
    return copied ? new Uint8Array(bytes) : bytes;
  }
  return new TextEncoder().encode(`${checkName(name, address)}\0`);
}

/** Copies of all addresses, one behind the other, and where each ends. */
function packed(addresses: readonly (ArrayBufferView | ArrayBuffer | string)[]) {
  if (!Array.isArray(addresses)) throw invalidArgType('addresses', 'an array', addresses);
  const { length } = addresses;
  if (length > MAX_PEERS) throw outOfRange('addresses.length', `at most ${MAX_PEERS}`, length);
  let bytes = new Uint8Array(length * 32);
  const ends = new Uint32Array(length);
  let end = 0;
  for (let i = 0; i < length; i++) {
    const address = addressBytes(addresses[i], `addresses[${i}]`, false);
    if (address.length > MAX_ADDRESS) {
      throw invalidArgValue(`addresses[${i}]`, `is longer than ${MAX_ADDRESS} bytes`);
    }
    if (end + address.length > bytes.length) {
      const larger = new Uint8Array(2 * (end + address.length));
      larger.set(bytes);
      bytes = larger;
    }
    bytes.set(address, end);
    end += address.length;
    ends[i] = end;
  }
  return { bytes, ends };
}

// The same error, with what is known of the list.
function insertionError(error: FabricError, inserted: readonly Peer[]): Error {
  Object.assign(error, { index: inserted.length });
  Object.defineProperty(error, 'inserted', { value: inserted }); // too long to be printed
  return startAtCaller(error);
}

/** The peers of a domain's endpoints (fi_av(3)). */
export class AddressVector {
  readonly #engine: Engine;
  readonly #handle: Handle<'AddressVector'>;
  readonly #format: AddrFormat;
  // What peers know their vector by: an object of its own, so that they don't keep it alive.
  readonly #identity = {};
  #closed = false;
  /** @internal The endpoints that end with it. */
  readonly users = new Set<{ isClosed: boolean }>();

  /** @internal */
  constructor(engine: Engine, format: AddrFormat, options: AddressVectorOptions) {
    const type = oneOf('options.type', options.type ?? 'FI_AV_UNSPEC', TYPES);
    const count = checkInteger('options.count', options.count ?? 0, 0, MAX_PEERS);
    this.#engine = engine;
    this.#format = format;
    this.#handle = native.avOpen(engine.handle, { type, count });
    publishOpen('addressVector', this);
  }

  /** Whether it is closed, or something that it belongs to is. */
  get closed(): boolean {
    return this.#closed || !this.#engine.open;
  }

  /** The format of its addresses. */
  get addrFormat(): AddrFormat {
    return this.#format;
  }

  /** @internal */
  static is(value: unknown): value is AddressVector {
    return typeof value === 'object' && value !== null && #identity in value;
  }

  /** @internal */
  get handle(): Handle<'AddressVector'> {
    this.#checkOpen();
    return this.#handle;
  }

  /** @internal */
  get identity(): object {
    return this.#identity;
  }

  /**
   * Inserts a peer's address, as its `endpoint.address` has it. The same address gives the same peer.
   *
   * The call is the provider's and synchronous: it takes about a microsecond, a call of the kernel on
   * EFA, and waits while a region is being registered. insertMany() does the same off the event loop.
   *
   * @throws FabricError when the provider refuses it (fi_av_insert).
   */
  insert(address: ArrayBufferView | ArrayBuffer | string): Peer {
    this.#checkOpen();
    return this.#peer(native.avInsert(this.#handle, addressBytes(address)));
  }

  /**
   * Inserts many addresses off the event loop, in order: fi_av_insert. `peers[i]` is that of
   * `addresses[i]`; the same address gives the same peer. All addresses are checked before the first
   * is inserted.
   *
   * Where the provider refuses an address, those before it stay inserted, and the error names them.
   * Where the wait ends before, the addresses may be inserted all the same.
   *
   * @throws FabricError with `index`, the place of the address that was refused, and `inserted`, the
   * peers of those before it; FI_ETIMEDOUT after `options.timeout`.
   */
  async insertMany(
    addresses: readonly (ArrayBufferView | ArrayBuffer | string)[],
    options: WaitOptions = {},
  ): Promise<Peer[]> {
    this.#checkOpen();
    const wait = checkWait(options);
    const { bytes, ends } = packed(addresses);
    const inserting = offLoop(native.avInsertMany(this.#handle, bytes, ends));
    const { peers, error } = await within(inserting, wait, 'fi_av_insert');
    const inserted: Peer[] = [];
    for (let i = 0; i < peers.length; i++) {
      if (i % AT_ONCE === AT_ONCE - 1) await new Promise(setImmediate);
      inserted.push(this.#peer(peers[i] as number));
    }
    if (error !== undefined) throw insertionError(error, inserted);
    return inserted;
  }

  /**
   * Inserts a peer by host name and port, off the event loop: as fi_av_insertsvc. Other calls go on
   * while the name is being resolved. Where the wait ends before, the address may be inserted all the
   * same.
   *
   * @throws FabricError FI_EADDRNOTAVAIL for a name that cannot be resolved, FI_ENOSYS where addresses
   * are not those of IP.
   */
  async insertService(
    node: string,
    service: string | number,
    options: WaitOptions = {},
  ): Promise<Peer> {
    this.#checkOpen();
    const wait = checkWait(options);
    checkName('node', node);
    if (typeof service === 'number') checkInteger('service', service, 0, 65_535);
    else checkName('service', service);
    const inserted = offLoop(native.avInsertService(this.#handle, node, String(service)));
    return this.#peer(await within(inserted, wait, 'fi_av_insertsvc'));
  }

  #peer(handle: number): Peer {
    let peer = this.#engine.peers.get(handle);
    if (peer === undefined) {
      peer = new Peer(handle, this.#identity);
      this.#engine.peers.set(handle, peer);
    }
    return peer;
  }

  /** The address of a peer: fi_av_lookup. */
  lookup(peer: Peer): Uint8Array {
    this.#checkPeer(peer);
    return native.avLookup(this.#handle, peer.handle);
  }

  /**
   * Removes a peer. New operations to it are refused at once; the address goes when those in flight
   * are done, and then this resolves. Where it rejects instead, because the wait has ended before,
   * the peer is removed all the same, when they are done; until then insert() refuses its address.
   *
   * @throws FabricError FI_ETIMEDOUT after `options.timeout`, or what fi_av_remove fails with.
   */
  async remove(peer: Peer, options: WaitOptions = {}): Promise<void> {
    this.#checkPeer(peer);
    const wait = checkWait(options);
    peer.markRemoved();
    const engine = this.#engine;
    const request = engine.begin(Kind.Void, this);
    const promise = engine.requests.promise<void>(request);
    engine.control(Op.RemovePeer, request, 0, peer.handle, 0);
    engine.limit(request, promise, wait, 'fi_av_remove');
    try {
      await engine.settled(promise);
    } finally {
      engine.peers.delete(peer.handle);
    }
  }

  /** A printable form of an address: fi_av_straddr. */
  straddr(address: ArrayBufferView | ArrayBuffer): string {
    this.#checkOpen();
    return native.avStraddr(this.#handle, addressBytes(address));
  }

  /** Closes the vector, and the endpoints that use it. */
  async close(): Promise<void> {
    if (this.closed) return;
    native.avClose(this.#handle);
    this.#closed = true;
    publishClose('addressVector', this);
    for (const user of this.users) user.isClosed = true;
    this.#engine.drain();
    const { peers } = this.#engine;
    for (const [handle, { vector }] of peers) if (vector === this.#identity) peers.delete(handle);
  }

  /** Closes it: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.closed) throw closed('the address vector');
  }

  #checkPeer(peer: Peer): void {
    this.#checkOpen();
    if (!Peer.is(peer)) throw invalidArgType('peer', 'a Peer', peer);
    if (peer.vector !== this.#identity) {
      throw invalidArgValue('peer', 'is of another address vector');
    }
    if (peer.removed) throw invalidArgValue('peer', 'was removed from its address vector');
  }
}
