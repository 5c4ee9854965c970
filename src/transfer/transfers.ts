import { asCancellation } from '../base/cancellation.js';
import { closed, invalidArgType, invalidArgValue, outOfRange } from '../base/errors.js';
import { isInstance } from '../base/objects.js';
import { type Handle, type NativeOrder, type NativeSeries, native } from '../contract/native.js';
import type { Access } from '../diagnostics/transfer-state.js';
import { PRIORITIES } from './admission.js';
import type { Course } from './course.js';
import { engineClosed, errnoOf, offerEnded, TransferError } from './errors.js';
import type { Mappings } from './mappings.js';
import { MemoryPart, TransferMemory } from './memory.js';
import { lengthOfPieces } from './pieces.js';
import type { PeerContext, RemoteEngine } from './remote-engine.js';
import { Series } from './series.js';
import { checkGrant, type Grant, isGrant, nativeGrantOf } from './token.js';
import { Transfer } from './transfer.js';
import type { TransferOptions } from './transfer-options.js';
import { type CheckedOptions, checkTransferOptions } from './transfer-options.js';
import { UsedTokens } from './used-tokens.js';

/** The arguments of a write or a read. */
interface CheckedTransfer {
  readonly access: Access;
  readonly part: MemoryPart;
  /** Bytes. */
  readonly length: number;
  readonly grant: Grant;
  readonly options: CheckedOptions;
}

/** Checks and begins the writes and reads of the memory of a peer. */
export class Transfers {
  readonly #peer: RemoteEngine;
  readonly #context: PeerContext;
  readonly #mappings: Mappings | undefined;
  // The serial numbers of grants.
  readonly #inSeries = new Set<number>();
  readonly #afterSeries = new UsedTokens();

  constructor(peer: RemoteEngine, context: PeerContext, mappings: Mappings | undefined) {
    this.#peer = peer;
    this.#context = context;
    this.#mappings = mappings;
  }

  /** @param name of the argument that has the local memory. */
  check(
    access: Access,
    name: string,
    local: TransferMemory | MemoryPart,
    token: string | Grant,
    options: TransferOptions,
  ): CheckedTransfer {
    this.#peer.checkOpen();
    const checked = checkTransferOptions(access, options);
    const grant = this.grant(access, token);
    const part = isInstance(local, TransferMemory) ? local.slice() : local;
    if (!isInstance(part, MemoryPart))
      throw invalidArgType(name, 'TransferMemory or a part of it', local);
    if (part.memory.owner.engine !== this.#context.handle) {
      throw invalidArgValue(
        name,
        'is memory of another engine: allocate or register it on this one',
      );
    }
    part.checkOpen();
    const length = lengthOfPieces(part.pieces);
    if (length > grant.length) {
      throw outOfRange(name, `at most ${grant.length} bytes, which the token allows`, length);
    }
    return { access, part, length, grant, options: checked };
  }

  /** Begins transfers of the parts of one grant. `concluded` is called after the last one. */
  series(
    access: Access,
    token: string | Grant,
    options: TransferOptions,
    concluded: () => void,
  ): Series {
    this.#peer.checkOpen();
    const checked = checkTransferOptions(access, options);
    const grant = this.grantOfSeries(access, token);
    this.#inSeries.add(grant.serial);
    return new Series(nativeGrantOf(grant), {
      slices: (pieces) => native.transferSlices(this.#context.handle, pieces, grant.slice),
      begin: (part, range) =>
        this.begin({ access, part, length: part.length, grant, options: checked }, range),
      conclude: (end) => {
        this.#inSeries.delete(grant.serial);
        this.#afterSeries.add(`${grant.serial}`, grant.expires);
        concluded();
        const mapped = this.#mapping(grant, access) !== undefined;
        this.#conclude(access, grant, { ...end, mapped });
      },
    });
  }

  #conclude(
    access: Access,
    grant: Grant,
    end: Pick<NativeSeries, 'slices' | 'bytes' | 'status' | 'mapped'>,
  ): void {
    if (!this.#context.isOpen()) return;
    const use = {
      peer: this.#peer.handle,
      isWrite: access === 'write',
      grant: nativeGrantOf(grant),
    };
    native.transferConclude(this.#context.handle, { ...use, ...end });
  }

  /** Checks a token, and opens it. */
  grant(access: Access, token: string | Grant): Grant {
    const grant = isGrant(token) ? token : this.#peer.grant(token);
    if (grant.owner !== this.#peer.identity)
      throw invalidArgValue('token', 'is from another engine');
    checkGrant(grant, access);
    if (this.#inSeries.has(grant.serial)) throw offerEnded();
    return grant;
  }

  /** The same. Refuses at once what would otherwise be refused with the first bytes: a token whose series has ended. */
  grantOfSeries(access: Access, token: string | Grant): Grant {
    const grant = this.grant(access, token);
    if (this.#afterSeries.has(`${grant.serial}`)) throw offerEnded();
    return grant;
  }

  #mapping(grant: Grant, access: Access) {
    return grant.file ? this.#mappings?.get(grant.file, access) : undefined;
  }

  /** @param range what the transfer uses of the grant, if it is one of a series. */
  begin(
    { access, part, length, grant, options }: CheckedTransfer,
    range?: NativeOrder['part'],
  ): Transfer {
    const { handle, events, queue, activity, timeouts } = this.#context;
    const { handles, numaNode, device } = part.memory;
    const startNew = () => {
      const started = native.transferStart(handle, {
        peer: this.#peer.handle,
        isWrite: access === 'write',
        priority: PRIORITIES.indexOf(options.priority),
        memories: handles,
        pieces: part.pieces,
        numaNode: numaNode ?? -1,
        grant: nativeGrantOf(grant),
        notification: options.notification,
        mapping: device === undefined ? this.#mapping(grant, access) : undefined,
        mappingOffset: grant.file?.offset ?? 0,
        part: range,
      });
      if (started === undefined) throw offerEnded();
      return started;
    };
    const course: Course = {
      access,
      peer: this.#peer,
      part,
      priority: options.priority,
      total: length,
      rails: handles.length,
      events,
      activity,
      admission: queue.at(options.priority),
      timeouts,
      start: (ended) => {
        this.#checkStart(part);
        return ended === undefined ? startNew() : this.#startAgain(ended);
      },
      refuse: (status) => {
        if (range !== undefined) return; // its series tells the peer
        this.#conclude(access, grant, { slices: 0, bytes: 0, status, mapped: false });
      },
    };
    const transfer = new Transfer(course, options);
    part.lease?.usedUntil(transfer.released);
    return transfer;
  }

  #startAgain(ended: Handle<'Transfer'>) {
    const id = native.transferRepeat(this.#context.handle, ended);
    if (id > 0) return { handle: ended, id };
    if (id < 0) throw offerEnded();
    throw new TransferError(errnoOf('FI_EALREADY'), false, {
      detail:
        'the transfer cannot start again, because its token is for one transfer or a slice was sent twice',
      hint: 'ask the peer for another offer',
    });
  }

  // A transfer may start some time after its call, because it may wait for its turn.
  // If its lease was released meanwhile, it still uses the memory.
  #checkStart({ memory }: MemoryPart): void {
    if (!this.#context.isOpen()) throw engineClosed();
    if (memory.closed) throw asCancellation(closed('the memory'));
    if (this.#peer.hasLeft) throw this.#peer.absent();
  }
}
