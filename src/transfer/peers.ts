import { countAsHandled } from '../base/cancellation.js';
import { isOfFullVector } from '../base/error-hints.js';
import { FabricError, invalidArgValue } from '../base/errors.js';
import { TimeLimit } from '../base/time-limit.js';
import { native } from '../contract/native.js';
import { type EngineAddress, identityText, isSameAddress } from './address.js';
import { Addresses } from './addresses.js';
import type { Barriers } from './barriers.js';
import { ForgottenPeers } from './forgotten-peers.js';
import type { Inbox } from './inbox.js';
import type { Rail } from './rails.js';
import { type PeerContext, RemoteEngine, type Usable } from './remote-engine.js';

/** Milliseconds to wait for the messages to a peer that is forgotten, or to all peers when the engine closes. */
export const FLUSH_TIMEOUT = 1000;

// The same, after messages were given up.
const LAST_TIMEOUT = 250; // ms

// The most closed peers whose addresses are kept.
const MAX_CLOSED = 1024;

/** The state of an engine that its peers need. */
export interface PeersOptions {
  readonly context: Omit<PeerContext, 'forget' | 'maps'>;
  readonly rails: readonly Rail[];
  readonly inbox: Inbox;
  readonly barriers: Barriers;
  /** Whether the engine maps the memory of peers of its host. */
  readonly maps: boolean;
  /** Whether all rails do RDMA. */
  readonly rdma: boolean;
  /** Called once, when a rail has no room for another peer. */
  full(error: FabricError): void;
}

/** The engines that an engine knows, by identity. */
export class Peers {
  readonly #options: PeersOptions;
  readonly #known: Map<bigint, RemoteEngine>;
  readonly #forgotten = new ForgottenPeers();
  // Closed peers whose transfers or messages have not ended.
  readonly #closing = new Map<bigint, RemoteEngine>();
  #isFull = false;
  // The addresses of the peers that were closed last, by identity.
  readonly #closed = new Map<bigint, Pick<RemoteEngine, 'address' | 'stranger'>>();

  /** @param known an empty map. The inbox reads the same map. */
  constructor(known: Map<bigint, RemoteEngine>, options: PeersOptions) {
    this.#known = known;
    this.#options = options;
  }

  /**
   * Returns the engine of an address. Makes it if it is not known.
   *
   * @param stranger undefined if the address was not sent by a stranger. Then it replaces a stranger's that differs.
   * @param met is called with the engine before messages that wait for it pass.
   * @throws TypeError ERR_INVALID_ARG_VALUE for a second address of an engine: one of them is forged.
   */
  meet(
    address: EngineAddress,
    stranger?: Usable,
    met: (peer: RemoteEngine) => void = () => {},
  ): RemoteEngine {
    const known = this.#known.get(address.id);
    if (known !== undefined) {
      if (isSameAddress(known.address, address)) {
        met(known);
        return known;
      }
      if (stranger !== undefined || known.stranger === undefined) throw anotherAddress(address);
      countAsHandled(known.close());
    }
    const { context, rails, inbox, maps, rdma } = this.#options;
    const inserted = address.rails.map((each, i) =>
      stranger && !stranger.usable[i] ? undefined : each,
    );
    const addresses = this.#insert(rails, inserted);
    const handle = native.transferPeer(
      context.handle,
      address.id,
      addresses.handles,
      address.rails.length,
      rdma && address.rdma,
    );
    const peer = new RemoteEngine(
      {
        ...context,
        maps: maps && stranger?.maps !== false && this.#forgotten.mayMap(address.id),
        forget: (closing, unused) => this.#forget(closing, unused, addresses),
      },
      address,
      handle,
      stranger,
    );
    this.#known.set(address.id, peer);
    this.#closed.delete(address.id);
    met(peer);
    inbox.known(peer);
    return peer;
  }

  #insert(rails: readonly Rail[], addresses: readonly (Uint8Array | undefined)[]): Addresses {
    try {
      return new Addresses(rails, addresses);
    } catch (error) {
      if (!this.#isFull && FabricError.is(error) && isOfFullVector(error)) {
        this.#isFull = true;
        this.#options.full(error);
      }
      throw error;
    }
  }

  /** The engine that is known by this identity, or one that was closed and with which something is still in flight. */
  with(identity: bigint): RemoteEngine | undefined {
    return this.#known.get(identity) ?? this.#closing.get(identity);
  }

  /** Meets a peer again that was closed lately, to answer it. Undefined if there is none. The caller holds and releases it. */
  again(identity: bigint): RemoteEngine | undefined {
    const closed = this.#closed.get(identity);
    return closed && this.meet(closed.address, closed.stranger);
  }

  #keepClosed(peer: RemoteEngine): void {
    if (peer.hasLeft || peer.hasEnded || this.#known.has(peer.identity)) return;
    const { identity, address, stranger } = peer;
    this.#closed.delete(identity); // the one that was closed last is the last
    this.#closed.set(identity, { address, stranger });
    const [oldest] = this.#closed.keys();
    if (this.#closed.size > MAX_CLOSED) this.#closed.delete(oldest as bigint);
  }

  async #forget(peer: RemoteEngine, unused: Promise<void>, addresses: Addresses): Promise<void> {
    const { context, inbox, barriers } = this.#options;
    if (this.#known.get(peer.identity) === peer) this.#known.delete(peer.identity);
    barriers.left(peer.identity, () => peer.abandoned('the peer was closed'));
    this.#keepClosed(peer);
    if (peer.maps && !peer.hasLeft && !peer.hasEnded) this.#forgotten.add(peer.identity);
    this.#closing.set(peer.identity, peer);
    let timeout = FLUSH_TIMEOUT;
    const limit = new TimeLimit(timeout, () => {
      context.mail.forget(peer);
      timeout = LAST_TIMEOUT;
    }).unref();
    await unused;
    limit.clear();
    peer.life.isForgotten = true;
    if (this.#closing.get(peer.identity) === peer) this.#closing.delete(peer.identity);
    peer.unmap();
    if (!context.isOpen()) return;
    if (inbox.has(peer.identity) || native.transferMet(peer.handle)) peer.takeNoMore();
    await context.mail.flush(peer.handle, timeout);
    native.transferForget(context.handle, peer.handle);
    context.mail.release(peer.identity);
    if (context.isOpen()) await addresses.remove();
  }
}

const anotherAddress = ({ id }: EngineAddress) =>
  invalidArgValue('address', `is a second one of the engine ${identityText(id)}, with other rails`);
