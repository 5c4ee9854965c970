import { withoutContext } from '../../base/async-context.js';
import { countAsHandled } from '../../base/cancellation.js';
import { closed } from '../../base/errors.js';
import { Channel } from '../confirmations.js';
import { offerEnded } from '../errors.js';
import type { MemoryPool } from '../memory-pool.js';
import type { PeerHolder } from '../peer-at.js';
import type { RemoteEngine } from '../remote-engine.js';
import { UsedTokens } from '../used-tokens.js';
import { decodeMessage, encodeMessage } from './messages.js';
import { StreamEnd } from './stream-end.js';
import type { StreamToken } from './stream-token.js';

const POOL = { size: 4 * 1024 * 1024, count: 16 };

/** How long an end of a stream waits, and what aborts it. */
export type StreamLimits = ConstructorParameters<typeof StreamEnd>[3];

/** A stream that can fail. */
interface OpenStream {
  readonly peer: RemoteEngine;
  /** Whether it needs nothing more of the peer. */
  readonly hasAll?: boolean;
  /** Whether its token was used, and bytes are still to come. */
  readonly isUnderWay: boolean;
  fail(error: unknown): void;
}

const keyOf = (peer: RemoteEngine, stream: number) => `${peer.id} ${stream}`;

/** The open streams of an engine. */
export class Streams {
  readonly #owned = new Map<number, StreamEnd>();
  readonly #used = new Map<string, StreamEnd>(); // by the owner and the number of the stream
  readonly #usedTokens = new UsedTokens();
  readonly #ofMemory = new Set<OpenStream>();
  readonly #waits: (change: number) => void;
  readonly #makePool: (options: typeof POOL) => MemoryPool;
  readonly #again: (identity: bigint) => RemoteEngine | undefined;
  readonly #holder: PeerHolder = {};
  #pool: MemoryPool | undefined;
  #last = 0;

  /**
   * @param waits is called when streams open (1) and end (-1).
   * @param again meets a peer that was closed lately.
   */
  constructor(
    waits: (change: number) => void,
    makePool: (options: typeof POOL) => MemoryPool,
    again: (identity: bigint) => RemoteEngine | undefined,
  ) {
    this.#waits = waits;
    this.#makePool = makePool;
    this.#again = again;
  }

  /** The memory of streams that have no pool of their own. */
  get pool(): MemoryPool {
    this.#pool ??= withoutContext(() => this.#makePool(POOL));
    return this.#pool;
  }

  /** Makes a stream that this engine owns. */
  own(peer: RemoteEngine, limits: StreamLimits): { stream: number; end: StreamEnd } {
    const stream = ++this.#last;
    const end = new StreamEnd(peer, stream, true, limits, () => {
      this.#owned.delete(stream);
      this.#changed(peer, -1);
    });
    this.#owned.set(stream, end);
    this.#changed(peer, 1);
    if (peer.hasLeft) this.lost(peer, () => peer.absent());
    return { stream, end };
  }

  /** @throws TransferError FI_EKEYREJECTED if the token of a stream was used before. */
  checkUnused(peer: RemoteEngine, { stream }: Pick<StreamToken, 'stream'>): void {
    if (this.#usedTokens.has(keyOf(peer, stream))) throw offerEnded();
  }

  /**
   * Opens a stream of a peer.
   *
   * @throws TransferError FI_EKEYREJECTED if its token was used before.
   */
  use(
    peer: RemoteEngine,
    { stream, expires }: Pick<StreamToken, 'stream' | 'expires'>,
    limits: StreamLimits,
  ): StreamEnd {
    const key = keyOf(peer, stream);
    if (!this.#usedTokens.add(key, expires)) throw offerEnded();
    const end = new StreamEnd(peer, stream, false, limits, () => {
      this.#used.delete(key);
      this.#changed(peer, -1);
    });
    this.#used.set(key, end);
    this.#changed(peer, 1);
    return end;
  }

  /** Adds a stream to or from memory that its peer has offered. Returns a function that removes it. */
  add(stream: OpenStream): () => void {
    this.#ofMemory.add(stream);
    this.#changed(stream.peer, 1);
    return () => {
      if (this.#ofMemory.delete(stream)) this.#changed(stream.peer, -1);
    };
  }

  #changed(peer: RemoteEngine, change: number): void {
    this.#waits(change);
    peer.opened(change);
  }

  /** A message of a peer has arrived. Returns the refusal of a token, if it has used one that is refused. */
  arrived(peer: RemoteEngine, bytes: Uint8Array): Promise<void> | undefined {
    const addressed = decodeMessage(bytes);
    if (addressed === undefined) return undefined;
    const { stream, toOwner, message } = addressed;
    const end = toOwner ? this.#owned.get(stream) : this.#used.get(keyOf(peer, stream));
    if (end?.peer === peer) end.arrived(message);
    else if (message.kind === 'open') {
      const refusal = this.#refuse(peer, stream);
      countAsHandled(refusal); // it may have left
      if (end?.peer.id === peer.id) end.fail(closed('the peer')); // it was closed, and opened again
      return refusal;
    }
    return undefined;
  }

  /** Messages of an engine that is no peer. One that was closed may use the token of a stream, and is refused. */
  arrivedFromStranger(from: bigint, messages: readonly Uint8Array[]): void {
    const opens = (bytes: Uint8Array) => decodeMessage(bytes)?.message.kind === 'open';
    const peer = messages.some(opens) ? this.#again(from) : undefined;
    if (peer === undefined) return;
    peer.holders.add(this.#holder);
    const refusals = messages.map((bytes) => this.arrived(peer, bytes));
    // A peer that is closed has one second for its messages. The first one may wait for a handshake that long.
    const release = () => peer.release(this.#holder);
    countAsHandled(Promise.allSettled(refusals).then(release));
  }

  async #refuse(peer: RemoteEngine, stream: number): Promise<void> {
    const reason = 'it was closed or has expired, or its token was already used';
    const message = { stream, toOwner: false, message: { kind: 'failed', reason } } as const;
    await peer.send(encodeMessage(message), Channel.Stream);
  }

  /** Ends all streams with an error. */
  fail(reason: () => Error): void {
    for (const open of this.#open()) open.fail(reason());
  }

  /** Ends the streams of a peer that this engine is about to forget, and tells the peer. */
  left(peer: RemoteEngine, reason: () => Error): void {
    for (const open of this.#open()) if (open.peer === peer && open.isUnderWay) open.fail(reason());
  }

  /** Ends the streams of a peer that is gone. Those whose last messages were delivered just before end well. */
  lost(peer: RemoteEngine, reason: () => Error): void {
    setImmediate(() => {
      for (const open of this.#open()) if (open.peer === peer && !open.hasAll) open.fail(reason());
    });
  }

  #open(): OpenStream[] {
    return [...this.#owned.values(), ...this.#used.values(), ...this.#ofMemory];
  }
}
