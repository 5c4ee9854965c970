import { asCancellation, cancellable } from './base/cancellation.js';
import { publishOpen } from './base/channels.js';
import {
  checkBytes,
  checkInteger,
  checkOptions,
  checkService,
  checkString,
  MAX_PORT,
  namesOf,
  oneOf,
} from './base/checks.js';
import { uncloneable } from './base/describe.js';
import {
  FabricError,
  invalidArgType,
  invalidArgValue,
  offLoop,
  outOfRange,
  startAtCaller,
} from './base/errors.js';
import type { AddrFormat } from './base/flags.js';
import { isArray } from './base/objects.js';
import { notAPeer, Peer } from './base/peer.js';
import { parseSocketAddress } from './base/socket-address.js';
import { checkWait, type WaitOptions, within } from './base/wait-options.js';
import { native } from './contract/native.js';
import { BoundHandle } from './engine/bound-handle.js';
import type { Engine } from './engine/engine.js';
import { Kind } from './engine/requests.js';

const UNCLONEABLE = uncloneable(
  'an AddressVector belongs to its thread: send the addresses of its peers, av.lookup(peer)',
);

/** The options of an address vector: fi_av_open, fi_av(3). */
export interface AddressVectorOptions {
  /** How the provider stores addresses. If omitted, the provider chooses. */
  readonly type?: 'FI_AV_TABLE' | 'FI_AV_MAP' | 'FI_AV_UNSPEC';
  /** The expected number of addresses. */
  readonly count?: number;
}

const NAMES = namesOf<AddressVectorOptions>({ type: 1, count: 1 });
const TYPES = ['FI_AV_TABLE', 'FI_AV_MAP', 'FI_AV_UNSPEC'] as const;
// The most peers of one domain: the size of the engine's table.
const MAX_PEERS = 2 ** 20;
const MAX_NAME = 1024;
const MAX_ADDRESS = 4096;
// The number of Peer objects created in one turn of the event loop: about 1 ms.
const PEERS_PER_TURN = 4096;

function checkName(name: string, value: unknown): string {
  const text = checkString(name, value);
  if (text === '') throw invalidArgValue(name, 'is empty');
  if (text.length > MAX_NAME) throw invalidArgValue(name, `is longer than ${MAX_NAME} characters`);
  return text;
}

/** The bytes of an address. The caller may pass `IP:PORT` and FI_ADDR_STR as text. */
function addressBytes(
  address: unknown,
  format: AddrFormat,
  name = 'address',
  copied = true,
): Uint8Array {
  if (typeof address !== 'string') {
    const bytes = checkBytes(name, address);
    // Shared memory could change between the check and the use.
    return copied ? new Uint8Array(bytes) : bytes;
  }
  const text = checkName(name, address);
  if (format === 'FI_ADDR_STR') return new TextEncoder().encode(`${text}\0`);
  const bytes = format.startsWith('FI_SOCKADDR') ? parseSocketAddress(text) : undefined;
  if (bytes === undefined) throw invalidArgValue(name, wantedText(format));
  return bytes;
}

function wantedText(format: AddrFormat): string {
  return format.startsWith('FI_SOCKADDR')
    ? "must be the bytes of a peer's endpoint.address, or IP:PORT, such as '127.0.0.1:5000' or " +
        "'[::1]:5000'; av.insertService() resolves host names"
    : `must be the bytes of a peer's endpoint.address: ${format} has no text form`;
}

/** Copies of all addresses in one block, and the end of each. */
function packed(
  addresses: readonly (ArrayBufferView | ArrayBuffer | string)[],
  format: AddrFormat,
) {
  if (!isArray(addresses)) throw invalidArgType('addresses', 'an array', addresses);
  const { length } = addresses;
  if (length > MAX_PEERS) throw outOfRange('addresses.length', `at most ${MAX_PEERS}`, length);
  let bytes = new Uint8Array(length * 32);
  const ends = new Uint32Array(length);
  let end = 0;
  for (let i = 0; i < length; i++) {
    const address = addressBytes(addresses[i], format, `addresses[${i}]`, false);
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

// Adds the index and the inserted peers to the error.
function insertionError(error: FabricError, inserted: readonly Peer[]): Error {
  Object.assign(error, { index: inserted.length });
  Object.defineProperty(error, 'inserted', { value: inserted }); // not enumerable: too long to print
  return startAtCaller(error);
}

/** An address vector: the peers of a domain's endpoints (fi_av(3)). */
export class AddressVector {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** @internal */
  readonly bound: BoundHandle<'AddressVector'>;
  readonly #engine: Engine;
  readonly #format: AddrFormat;
  // Identifies the vector in its peers. A separate object, so that peers do not keep the vector
  // alive.
  readonly #identity = {};

  /** @internal */
  constructor(engine: Engine, format: AddrFormat, given: AddressVectorOptions | undefined) {
    const options = checkOptions('options', given, NAMES);
    const type = oneOf('options.type', options.type ?? 'FI_AV_UNSPEC', TYPES);
    const count = checkInteger('options.count', options.count ?? 0, 0, MAX_PEERS);
    this.#engine = engine;
    this.#format = format;
    const handle = native.avOpen(engine.handle, { type, count });
    this.bound = new BoundHandle('addressVector', engine, handle);
    publishOpen('addressVector', this);
  }

  /** Whether the address vector or its domain is closed. */
  get closed(): boolean {
    return this.bound.closed;
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
  get identity(): object {
    return this.#identity;
  }

  /**
   * Inserts a peer's `endpoint.address`: fi_av_insert. The same address gives the same peer, which
   * stays until it is removed as often. An IP address and port may also be text:
   * `'127.0.0.1:5000'`, `'[::1]:5000'`.
   *
   * The call is synchronous. It takes about a microsecond, or a system call on EFA, and it waits
   * while a region is being registered. insertMany() inserts off the event loop.
   *
   * @throws FabricError FI_EADDRNOTAVAIL if the provider refuses the address, FI_EBUSY while
   * operations to a removed peer with this address are in flight, FI_ENOMEM if the domain has too
   * many peers, or another code of fi_av_insert(3).
   * @throws Error ERR_CLOSED if the address vector is closed.
   */
  insert(address: ArrayBufferView | ArrayBuffer | string): Peer {
    this.bound.checkOpen();
    return this.#peer(native.avInsert(this.bound.handle, addressBytes(address, this.#format)));
  }

  /**
   * Inserts many addresses off the event loop, in order: fi_av_insert. `peers[i]` belongs to
   * `addresses[i]`. The same address gives the same peer. The call checks all addresses before it
   * inserts the first.
   *
   * If the provider refuses an address, the addresses before it stay inserted, and the error lists
   * their peers. If the timeout or the signal ends the wait, the addresses may still be inserted.
   *
   * @throws FabricError as insert() does, with `index`, the index of the refused address, and
   * `inserted`, the peers of the addresses before it; FI_ETIMEDOUT after `options.timeout`;
   * FI_ECANCELED if the address vector is closed first.
   * @throws AbortError, or the signal's reason. Error ERR_CLOSED if the address vector is closed.
   */
  insertMany(
    addresses: readonly (ArrayBufferView | ArrayBuffer | string)[],
    options: WaitOptions = {},
  ): Promise<Peer[]> {
    return this.#insertion(async () => {
      this.bound.checkOpen();
      const wait = checkWait(options);
      const { bytes, ends } = packed(addresses, this.#format);
      const inserting = offLoop(native.avInsertMany(this.bound.handle, bytes, ends));
      const { peers, error } = await within(inserting, wait, 'fi_av_insert');
      const inserted: Peer[] = [];
      for (let i = 0; i < peers.length; i++) {
        if (i % PEERS_PER_TURN === PEERS_PER_TURN - 1) await new Promise(setImmediate);
        inserted.push(this.#peer(peers[i] as number));
      }
      if (error !== undefined) throw insertionError(error, inserted);
      return inserted;
    });
  }

  /**
   * Inserts a peer by host name and port, off the event loop: fi_av_insertsvc. Other calls continue
   * while the name is being resolved. If the timeout or the signal ends the wait, the address may
   * still be inserted.
   *
   * @throws FabricError FI_EADDRNOTAVAIL if the name cannot be resolved; FI_ENOSYS if the
   * endpoint's addresses are not IP addresses; FI_ETIMEDOUT after `options.timeout`; FI_ECANCELED
   * if the address vector is closed first.
   * @throws RangeError ERR_OUT_OF_RANGE if the service is a number that is not a port.
   * @throws AbortError, or the signal's reason. Error ERR_CLOSED if the address vector is closed.
   */
  insertService(node: string, service: string | number, options: WaitOptions = {}): Promise<Peer> {
    return this.#insertion(async () => {
      this.bound.checkOpen();
      const wait = checkWait(options);
      checkName('node', node);
      if (typeof service === 'number') checkInteger('service', service, 0, MAX_PORT);
      else checkService('service', checkName('service', service));
      const inserted = offLoop(native.avInsertService(this.bound.handle, node, String(service)));
      return this.#peer(await within(inserted, wait, 'fi_av_insertsvc'));
    });
  }

  // efa inserts addresses as long as an endpoint is open.
  #insertion<T>(insert: () => Promise<T>): Promise<T> {
    return cancellable(async () => {
      const { bound } = this;
      const hadEndpoint = bound.isUsed;
      try {
        return await insert();
      } catch (error) {
        const isCancelled = FabricError.is(error) && error.code === 'FI_EOPBADSTATE';
        throw isCancelled && hadEndpoint && !bound.isUsed ? asCancellation(error) : error;
      }
    });
  }

  #peer(handle: number): Peer {
    let peer = this.#engine.peers.get(handle);
    if (peer === undefined) {
      peer = new Peer(handle, this.#identity);
      this.#engine.peers.set(handle, peer);
    }
    peer.markInserted();
    return peer;
  }

  /**
   * The address of a peer: fi_av_lookup.
   *
   * @throws FabricError FI_EADDRNOTAVAIL if the provider has no address for the peer.
   * @throws TypeError ERR_INVALID_ARG_VALUE if the peer was removed or belongs to another address
   * vector. Error ERR_CLOSED.
   */
  lookup(peer: Peer): Uint8Array {
    this.#checkPeer(peer);
    return native.avLookup(this.bound.handle, peer.handle);
  }

  /**
   * Removes a peer: fi_av_remove. If its address was inserted several times, each removal
   * except the last undoes one insertion. With the last removal, new operations to the peer fail at once. When the
   * operations in flight have completed, the address is removed and the promise resolves. If the timeout or the signal
   * ends the wait, the promise rejects, and the address is still removed when they have completed. Until then insert()
   * refuses the address.
   *
   * @throws FabricError FI_ETIMEDOUT after `options.timeout`, or the code of fi_av_remove(3).
   * @throws AbortError, or the signal's reason. TypeError ERR_INVALID_ARG_VALUE if the peer was
   * already removed or belongs to another address vector. Error ERR_CLOSED.
   */
  remove(peer: Peer, options: WaitOptions = {}): Promise<void> {
    return cancellable(async () => {
      this.#checkPeer(peer);
      const wait = checkWait(options);
      peer.markRemoved();
      const engine = this.#engine;
      const request = engine.begin(Kind.Void, this);
      const promise = engine.requests.promise<void>(request);
      engine.controls.removePeer(request, peer.handle);
      engine.limit(request, promise, wait, 'fi_av_remove');
      try {
        await engine.settled(promise);
      } finally {
        if (peer.removed) engine.peers.delete(peer.handle);
      }
    });
  }

  /**
   * A printable form of an address: fi_av_straddr.
   *
   * @throws FabricError FI_EINVAL if the provider cannot print the address. Error ERR_CLOSED.
   */
  straddr(address: ArrayBufferView | ArrayBuffer): string {
    this.bound.checkOpen();
    return native.avStraddr(this.bound.handle, addressBytes(address, this.#format));
  }

  /**
   * Closes the address vector and the endpoints that use it.
   *
   * @throws FabricError with the code of fi_close(3).
   */
  async close(): Promise<void> {
    if (this.closed) return;
    native.avClose(this.bound.handle);
    this.bound.end(this);
    const { peers } = this.#engine;
    for (const [handle, { vector }] of peers) if (vector === this.#identity) peers.delete(handle);
  }

  /** Closes the address vector: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkPeer(peer: Peer): void {
    this.bound.checkOpen();
    if (!Peer.is(peer)) throw notAPeer('peer', peer);
    if (peer.vector !== this.#identity) {
      throw invalidArgValue('peer', 'belongs to another address vector');
    }
    if (peer.removed) throw invalidArgValue('peer', 'was removed from its address vector');
  }
}
