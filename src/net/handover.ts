import { checkSignal, offAbort, onAbort } from '../base/abort-signals.js';
import { countAsHandled } from '../base/cancellation.js';
import { Deferred } from '../base/deferred.js';
import { within } from '../base/wait-options.js';
import type {
  Grant,
  MemoryPart,
  RemoteEngine,
  TransferEngine,
  TransferMemory,
} from '../transfer/index.js';
import type { PeerHolder, Sender } from '../transfer/peer-at.js';
import { connectionError } from './errors.js';
import { encodeOffer, type MessageOffer } from './message-offer.js';
import { Kind } from './message-writer.js';

type Memory = TransferMemory | MemoryPart;

/** What a handover does with its socket. */
export interface HandoverOwner {
  /** Sends a record. */
  add(kind: number, bytes: Uint8Array): Promise<void>;
  /** Ends the socket, because the peer breaks the protocol. */
  destroy(error: Error): void;
}

/** Messages that the peer reads from memory, and that this side reads from the peer's. */
export class Handover {
  readonly #engine: TransferEngine | undefined;
  readonly #owner: HandoverOwner;
  /** The client, on the side of a server. */
  stranger: Sender | undefined;
  readonly #holder: PeerHolder = {};
  readonly #peer = new Deferred<RemoteEngine>();
  /** Messages that the peer has not read. */
  readonly #unread = new Set<Deferred<void>>();

  constructor(engine: TransferEngine | undefined, owner: HandoverOwner) {
    this.#engine = engine;
    this.#owner = owner;
    countAsHandled(this.#peer.promise); // the calls that wait for it report it
    owner.add(Kind.Engine, Buffer.from(engine?.address ?? '')).catch(() => {}); // the socket has ended
  }

  /** The peer has said where its engine is: an empty address if it has none. */
  met(address: Uint8Array): void {
    if (address.length === 0)
      this.#peer.reject(connectionError('ERR_INVALID_STATE', 'the peer has no transfer engine'));
    else
      this.#engine
        ?.hold(this.#holder, Buffer.from(address).toString(), this.stranger)
        .then(this.#peer.resolve, this.#peer.reject);
  }

  /** The socket has ended. */
  fail(error: Error): void {
    this.#peer.reject(error);
    for (const { reject } of this.#unread) reject(error);
  }

  /** The socket is closed. Its peer is forgotten unless something else holds it. */
  close(error: Error): void {
    this.#peer.promise.then((peer) => peer.release(this.#holder)).catch(() => {});
    this.fail(error);
  }

  #required(): TransferEngine {
    if (this.#engine) return this.#engine;
    throw connectionError(
      'ERR_INVALID_STATE',
      'the socket has no transfer engine: see the option engine',
    );
  }

  async send(memory: Memory, signal: AbortSignal | undefined): Promise<void> {
    this.#required();
    checkSignal(signal);
    const to = await within(this.#peer.promise, { signal, timeout: undefined }, 'sendFrom');
    const offer = await memory.offer({ access: 'read', to });
    const close = () => countAsHandled(offer.close()); // a late copy is no error of the message
    if (signal) onAbort(signal, close);
    const read = new Deferred<void>();
    this.#unread.add(read);
    try {
      checkSignal(signal);
      const record = encodeOffer({ length: memory.length, token: offer.token });
      await this.#owner.add(Kind.Offer, record);
      offer.arrived.then(() => read.resolve(), read.reject);
      await read.promise;
    } catch (error) {
      countAsHandled(read.promise);
      checkSignal(signal);
      throw error;
    } finally {
      this.#unread.delete(read);
      if (signal) offAbort(signal, close);
      close();
    }
  }

  /** Brings a message of the peer's memory into memory. Returns the number of its bytes. */
  async receive(offer: MessageOffer, memory: Memory, signal?: AbortSignal): Promise<number> {
    const [remote, grant] = await this.#granted(offer, signal);
    const { length } = grant;
    if (length > memory.length) throw tooLong(length, memory.length);
    await remote.read(grant, memory.slice(0, length), { ...(signal && { signal }) });
    return length;
  }

  /** The bytes of a message that is in the peer's memory. */
  async receiveCopy(offer: MessageOffer, signal?: AbortSignal): Promise<Uint8Array> {
    const [remote, grant] = await this.#granted(offer, signal);
    const memory = await this.#required().allocate(grant.length);
    try {
      await remote.read(grant, memory, { ...(signal && { signal }) });
      return Uint8Array.from(memory.bytes);
    } finally {
      await memory.close();
    }
  }

  /** What the token of an offer opens. The socket ends if it is not the memory that the peer has named. */
  async #granted(
    { length, token }: MessageOffer,
    signal: AbortSignal | undefined,
  ): Promise<[RemoteEngine, Grant]> {
    this.#required();
    const remote = await within(this.#peer.promise, { signal, timeout: undefined }, 'receive');
    const grant = grantOf(remote, token);
    if (grant?.length === length && grant.access === 'read') return [remote, grant];
    const error = connectionError('EPROTO', 'the token of the peer opens no message', 'read');
    this.#owner.destroy(error);
    throw error;
  }
}

function grantOf(remote: RemoteEngine, token: string): Grant | undefined {
  try {
    return remote.grant(token);
  } catch {
    return undefined; // it is malformed, or of another engine
  }
}

/** Puts a short message into memory. Returns the number of its bytes. */
export function place(message: Uint8Array, memory: Memory): number {
  if (message.length > memory.length) throw tooLong(message.length, memory.length);
  memory.bytes.set(message);
  return message.length;
}

const tooLong = (length: number, room: number) =>
  connectionError('EMSGSIZE', `a message has ${length} bytes, the memory ${room}`, 'read');
