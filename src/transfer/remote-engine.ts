import { checkBytes, checkOptions, namesOf, oneOf } from '../checks.js';
import { closed, invalidArgType, invalidArgValue, outOfRange } from '../errors.js';
import { type Handle, native } from '../native.js';
import type { Activity } from './activity.js';
import { PRIORITIES, type Priority, type Queue } from './admission.js';
import { type Card, identityText } from './card.js';
import { errnoOf, TransferError } from './errors.js';
import { Mappings } from './mappings.js';
import type { NativeEvents } from './native-events.js';
import { lengthOfPieces } from './pieces.js';
import { Part, Place } from './place.js';
import { isHere } from './same-host.js';
import { type Access, checkGrant, decodeToken, type Grant, grantOf, isGrant } from './token.js';
import { limitsOf, Transfer, type TransferOptions } from './transfer.js';

/** What the peers of an engine share. */
export interface PeerContext {
  readonly handle: Handle<'TransferEngine'>;
  readonly id: bigint;
  readonly secret: string | Uint8Array;
  readonly events: NativeEvents;
  readonly queue: Queue;
  /** Whether this engine maps the memory of peers of its host. */
  readonly maps: boolean;
  readonly activity: Activity;
  isOpen(): boolean;
  forget(peer: RemoteEngine): Promise<void>;
  nextNote(): number;
}

/** What a message between engines is for. */
export const Channel = { Program: 0, Group: 1 } as const;

const MAX_NOTE = 3072;
const DEADLINE = 30_000; // ms
const OPTIONS = namesOf<TransferOptions>({ note: 1, signal: 1, deadline: 1, priority: 1 });

/** Another engine, from its card: engine.peer(). */
export class RemoteEngine {
  /** The identity of the engine, in hexadecimal digits. */
  readonly id: string;
  /** The number of its rails. */
  readonly rails: number;
  /** @internal */
  readonly handle: Handle<'RemotePeer'>;
  /** @internal */
  readonly identity: bigint;
  readonly #context: PeerContext;
  readonly #mappings: Mappings | undefined;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(context: PeerContext, card: Card, handle: Handle<'RemotePeer'>) {
    this.#context = context;
    this.identity = card.id;
    this.id = identityText(card.id);
    this.rails = card.addresses.length;
    this.handle = handle;
    const { process } = card;
    const isMappable = context.maps && process !== undefined && isHere(process);
    this.#mappings = isMappable ? new Mappings(context.handle, process, card.id) : undefined;
  }

  /**
   * Whether the peer runs on this host, so that its memory from allocate() can be mapped: a transfer is
   * then one copy, without a NIC.
   */
  get maps(): boolean {
    return this.#mappings !== undefined;
  }

  /** Whether close() was called. */
  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /** @internal Checks for an open peer of this engine. */
  static check(name: string, peer: unknown, engine: Handle<'TransferEngine'>): RemoteEngine {
    if (!(peer instanceof RemoteEngine)) {
      throw invalidArgType(name, 'a peer: engine.peer(card)', peer);
    }
    if (peer.#context.handle !== engine) {
      throw invalidArgValue(name, 'is a peer of another engine: use engine.peer(card) of this one');
    }
    if (peer.closed) throw closed('the peer');
    return peer;
  }

  /**
   * Forgets the peer: its addresses are removed. Resolves when no transfer with it is under way.
   * engine.peer() may get it again.
   */
  close(): Promise<void> {
    this.unmap();
    this.#closing ??= this.#context.forget(this);
    return this.#closing;
  }

  /** @internal Unmaps the peer's memory. */
  unmap(): void {
    this.#mappings?.close();
  }

  /** Forgets the peer: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (!this.#context.isOpen()) throw closed('the transfer engine');
    if (this.closed) throw closed('the peer');
  }

  /**
   * Reads a token once, for several calls.
   *
   * @throws TypeError ERR_INVALID_ARG_VALUE if the token is malformed, is not from this peer, or is
   * for another engine.
   */
  grant(token: string): Grant {
    const { secret, id } = this.#context;
    return grantOf(decodeToken(token, secret), this.identity, id);
  }

  /**
   * Writes a place, or a part of one, into the memory that the peer has offered.
   *
   * @throws TypeError, RangeError for invalid arguments. TransferError FI_EKEYREJECTED if the token
   * has expired. Error ERR_CLOSED if the engine or the place is closed.
   */
  write(from: Place | Part, token: string | Grant, options: TransferOptions = {}): Transfer {
    return this.#transfer('write', 'from', from, token, options);
  }

  /** Reads the memory that the peer has offered into a place, or a part of one. */
  read(token: string | Grant, into: Place | Part, options: TransferOptions = {}): Transfer {
    return this.#transfer('read', 'into', into, token, options);
  }

  #transfer(
    access: Access,
    name: string,
    local: Place | Part,
    token: string | Grant,
    options: TransferOptions,
  ): Transfer {
    const { handle, events, queue, activity } = this.#context;
    this.#checkOpen();
    const checked = checkTransferOptions(access, options);
    const grant = isGrant(token) ? token : this.grant(token);
    if (grant.owner !== this.identity) throw invalidArgValue('token', 'is from another engine');
    checkGrant(grant, access);
    const part = local instanceof Place ? local.slice(0) : local;
    if (!(part instanceof Part)) throw invalidArgType(name, 'a Place or a part of one', local);
    if (part.place.owner.engine !== handle) {
      throw invalidArgValue(
        name,
        'is memory of another engine: allocate or register it on this one',
      );
    }
    if (part.place.closed) throw closed('the place');
    const length = lengthOfPieces(part.pieces);
    if (length > grant.length) {
      throw outOfRange(name, `at most ${grant.length} bytes, which the token allows`, length);
    }
    const { memories, numaNode, device } = part.place;
    const start = () => {
      const numbers = Float64Array.of(
        access === 'write' ? 0 : 1,
        PRIORITIES.indexOf(checked.priority),
        grant.slice,
        grant.span,
        grant.offer,
        grant.first,
        grant.expected,
        grant.planned,
        grant.length,
        0,
        grant.repeats ? 1 : 0,
        grant.file?.offset ?? 0,
        numaNode ?? -1,
        grant.serial,
        grant.before,
      );
      const started = native.transferStart(
        handle,
        this.handle,
        memories,
        part.pieces,
        grant.targets,
        grant.pieces,
        checked.note,
        numbers,
        // The CPU copies through a mapping.
        device === undefined && grant.file ? this.#mappings?.get(grant.file, access) : undefined,
      );
      if (started === undefined) throw offerEnded();
      return { handle: started, id: numbers[9] as number };
    };
    const again = (started: Handle<'Transfer'>) => {
      const id = native.transferAgain(handle, started);
      if (id > 0) return { handle: started, id };
      if (id < 0) throw offerEnded();
      throw new TransferError(errnoOf('FI_EALREADY'), false, {
        detail:
          'the transfer cannot start again, because its token is for one transfer or a slice was sent twice',
        hint: 'ask the peer for another offer',
      });
    };
    return new Transfer(
      {
        access,
        peer: this,
        priority: checked.priority,
        total: length,
        rails: part.place.memories.length,
      },
      start,
      again,
      events,
      activity,
      queue.at(checked.priority),
      checked,
    );
  }

  /**
   * Sends a message, which arrives once: engine.notes() of the peer.
   *
   * @throws TransferError FI_ETIMEDOUT if the peer takes no message for 30 seconds.
   */
  notify(bytes: Uint8Array): Promise<void> {
    const sent = this.send(bytes, Channel.Program);
    this.#context.activity.notesSent += 1;
    return sent;
  }

  /** @internal */
  send(bytes: Uint8Array, channel: number): Promise<void> {
    const { handle, events } = this.#context;
    this.#checkOpen();
    const message = checkNote('bytes', bytes);
    const id = this.#context.nextNote();
    return new Promise((resolve, reject) => {
      events.notes.set(id, (status, detail) => {
        if (status === 0) resolve();
        else reject(new TransferError(status, true, { detail }));
      });
      events.changed();
      native.transferNotify(handle, this.handle, message, id, channel);
    });
  }
}

function checkNote(name: string, note: unknown): Uint8Array {
  const bytes = checkBytes(name, note);
  if (bytes.length > MAX_NOTE) throw outOfRange(name, `at most ${MAX_NOTE} bytes`, bytes.length);
  return bytes;
}

function checkTransferOptions(access: Access, options: TransferOptions) {
  const { note, signal, deadline, priority } = checkOptions('options', options, OPTIONS);
  if (note !== undefined && access === 'read')
    throw invalidArgValue('options.note', 'is for writes');
  return {
    note: note === undefined ? undefined : checkNote('options.note', note),
    ...limitsOf(signal, deadline, DEADLINE),
    priority: (priority === undefined
      ? 'normal'
      : oneOf('options.priority', priority, PRIORITIES)) as Priority,
  };
}

const offerEnded = () =>
  new TransferError(errnoOf('FI_EKEYREJECTED'), false, {
    detail: 'the offer has ended, or is for one transfer and its token was used',
    hint: 'ask the peer for another offer',
  });

/** What ends everything that waits when the engine closes. */
export const engineClosed = () =>
  new TransferError(errnoOf('FI_ECANCELED'), true, { detail: 'the transfer engine was closed' });
