// The fabric: which headers of a request name the memory of a client, and how the bytes of a file get there and back. Nothing
// else of this module makes offers or transfers.
import type { FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { countAsHandled } from '../base/cancellation.js';
import { endsWith } from '../base/ends.js';
import { FabricError } from '../base/errors.js';
import { fileOf, readAll, writeAll } from '../base/file-bytes.js';
import { Clients, type ClientsOptions, type Meeting } from '../http/clients.js';
import { ADDRESS, TOKEN, textOf } from '../http/headers.js';
import type {
  Grant,
  MemoryLease,
  MemoryPart,
  MemoryPool,
  Offer,
  RemoteEngine,
  TransferEngine,
} from '../transfer/index.js';
import { ObjectError } from './errors.js';
import type { Answer } from './exchange.js';
import type { ObjectRequest } from './request.js';
import { answerableError, shortened } from './system-errors.js';
import type { Range } from './versions.js';

const WAIT = 120_000; // ms for a buffer of the server, as long as a client waits for an answer
const AT_ONCE = 2; // pieces of a request: one travels while the file is read into, or written from, the other

/** The memory of a client that a request offers. */
export interface Client {
  readonly remote: RemoteEngine;
  readonly grants: readonly Grant[];
  /** Bytes of all of them. */
  readonly length: number;
}

type Move = (lease: MemoryLease, grant: Grant, offset: number) => Promise<void>;

/** Moves bytes between files and the memory of clients. */
export class ServerFabric {
  readonly #engine: TransferEngine;
  readonly #pool: MemoryPool;
  readonly #clients: Clients;

  constructor(engine: TransferEngine, pool: MemoryPool, options: ClientsOptions) {
    this.#engine = engine;
    this.#pool = pool;
    this.#clients = new Clients(engine, options);
  }

  /** The address of the server's engine. */
  get address(): string {
    return this.#engine.address;
  }

  /** The most bytes that a token may open. */
  get piece(): number {
    return this.#pool.size;
  }

  /** Whether the program has closed the engine. Clients use HTTP then. */
  get closed(): boolean {
    return this.#engine.closed;
  }

  /** Whether the engine may meet that of a client. It says so in the request. */
  async reaches({ fields, connection, source }: ObjectRequest): Promise<boolean> {
    if (this.closed) return false;
    const address = fields[ADDRESS];
    if (address === undefined) return true; // a client of an earlier version
    try {
      (await this.#clients.meet(address, connection, source)).done();
      return true;
    } catch (error) {
      // A lack of descriptors says nothing about the engine.
      if (isBusy(error) || !(error instanceof TypeError || FabricError.is(error))) throw error;
      return false;
    }
  }

  /** Calls `work` with the memory that a request offers for an access: undefined if it offers none. */
  async withClient<T>(
    request: ObjectRequest,
    access: 'read' | 'write',
    work: (client: Client | undefined) => Promise<T>,
  ): Promise<T> {
    const tokens = request.fields[TOKEN];
    if (tokens === undefined) return work(undefined);
    const { peer, done } = await this.#meet(request);
    try {
      return await work(this.#clientOf(peer, tokens, access));
    } finally {
      done();
    }
  }

  async #meet({ fields, connection, source }: ObjectRequest): Promise<Meeting> {
    try {
      return await this.#clients.meet(fields[ADDRESS] ?? '', connection, source);
    } catch (error) {
      if (error instanceof TypeError) throw invalidToken(error.message);
      if (!FabricError.is(error)) throw error;
      if (error.code === 'FI_EACCES')
        throw new ObjectError('AccessDenied', { detail: error.message });
      throw error.code === 'FI_EBUSY'
        ? new ObjectError('SlowDown', { detail: error.message })
        : error;
    }
  }

  #clientOf(remote: RemoteEngine, tokens: string, access: 'read' | 'write'): Client {
    let grants: Grant[];
    try {
      grants = tokens.split(',').map((token) => remote.grant(token.trim()));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw invalidToken(error.message);
    }
    if (grants.some((grant) => grant.access !== access || grant.length > this.piece))
      throw invalidToken(`a token must be for a ${access} of at most ${this.piece} bytes`);
    return { remote, grants, length: grants.reduce((sum, { length }) => sum + length, 0) };
  }

  /** Meets no client any more, and waits for no `admit` that does not answer. */
  end(): void {
    this.#clients.end();
  }

  /** Forgets the clients, and ends the pool. */
  async close(): Promise<void> {
    await Promise.all([this.#clients.close(), this.#pool.close()]);
  }

  /** Writes a part of a file to the memory of a client. */
  send(fd: number, { start, end }: Range, client: Client, signal: AbortSignal): Promise<void> {
    if (client.length !== end - start) {
      throw invalidToken(`the tokens are for ${client.length} bytes, not ${end - start}`);
    }
    return this.#move(client, signal, async (lease, grant, offset) => {
      const length = await readAll(fileOf(fd), lease.bytes, start + offset);
      if (length < lease.length) throw shortened();
      await client.remote.write(lease, grant, { signal });
    });
  }

  /** Reads the memory of a client into a file. */
  receive(file: FileHandle, client: Client, signal: AbortSignal): Promise<void> {
    return this.#move(client, signal, async (lease, grant, offset) => {
      await client.remote.read(grant, lease, { signal });
      await writeAll(file, lease.bytes, offset);
    });
  }

  // Each worker holds one lease at a time, so requests that share few of them all go on.
  async #move({ grants }: Client, signal: AbortSignal, move: Move): Promise<void> {
    const pieces = piecesOf(grants); // the workers take from it, and a failure of one closes it
    const work = async () => {
      for (const { grant, offset } of pieces) {
        signal.throwIfAborted();
        // Also after a failure, the end of the block waits until no copy is in flight.
        await using lease = await this.#pool.acquire(grant.length, { signal, timeout: WAIT });
        await move(lease, grant, offset);
      }
    };
    const results = await Promise.allSettled(Array.from({ length: AT_ONCE }, work));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

const isBusy = (error: unknown) => answerableError(error).code === 'SlowDown';
const invalidToken = (detail: string) => new ObjectError('InvalidToken', { detail });

function* piecesOf(grants: readonly Grant[]) {
  let offset = 0;
  for (const grant of grants) {
    yield { grant, offset };
    offset += grant.length;
  }
}

const EXPIRES = 600_000; // ms: the last piece is offered before the first one moves
const END_TIMEOUT = 1000; // ms

/** A server whose engine this one reaches. */
export class ClientFabric {
  readonly #engine: TransferEngine;
  readonly #server: RemoteEngine;
  readonly #piece: number;
  /** Memory for bytes that the program wants elsewhere. */
  readonly pool: MemoryPool;

  /** @param piece the most bytes that a token of this server may open. */
  constructor(engine: TransferEngine, server: RemoteEngine, piece: number, pool: MemoryPool) {
    this.#engine = engine;
    this.#server = server;
    this.#piece = piece;
    this.pool = pool;
  }

  /**
   * Offers memory for a request, which gets the headers.
   *
   * @param access of the server: 'write' for a GET, 'read' for a PUT.
   * @returns the answer, when no copy can be in flight any more. If a PUT fails without an answer, or the connection of a request
   * ends before it, rejects at once: released() of the error resolves when no copy can be in flight.
   */
  async offering(
    part: MemoryPart,
    access: 'read' | 'write',
    request: (fields: Record<string, string>) => Promise<Answer>,
  ): Promise<Answer> {
    const starts = Array.from(
      { length: Math.ceil(part.length / this.#piece) },
      (_, i) => i * this.#piece,
    );
    const offers = await allOrNone(
      starts.map((start) => {
        const piece = part.slice(start, Math.min(start + this.#piece, part.length));
        return piece.offer({ access, to: this.#server, expires: EXPIRES });
      }),
    );
    const released = Promise.all(offers.map((offer) => offer.released));
    let answer: Answer | undefined;
    try {
      answer = await request({
        [ADDRESS]: this.#engine.address,
        [TOKEN]: textOf(offers),
      });
      const hasMoved = access === 'write' && answer.status < 300;
      if (hasMoved) await Promise.all(offers.map(({ arrived }) => arrived));
    } catch (error) {
      const isCutOff = isConnectionError(error);
      const closing = isCutOff || answer ? closeAll(offers) : closeLater(offers, released);
      if (!isCutOff && (answer || access === 'write')) await closing;
      else {
        endsWith(error, released);
        countAsHandled(closing);
      }
      throw error;
    }
    await closeAll(offers);
    return answer;
  }
}

const closeAll = (offers: readonly Offer[]) => Promise.all(offers.map((offer) => offer.close()));

/** After an abort the server ends its transfers, and with them the offers. Then no copy is in flight when the keys end. */
async function closeLater(offers: readonly Offer[], released: Promise<unknown>): Promise<void> {
  await Promise.race([released, sleep(END_TIMEOUT, undefined, { ref: false })]);
  await closeAll(offers);
}

const CUT_OFF: readonly unknown[] = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'FI_ECONNRESET'];
const isConnectionError = (error: unknown) =>
  CUT_OFF.includes((error as NodeJS.ErrnoException | undefined)?.code);

/** All offers. If one fails, closes the others. */
async function allOrNone(offering: readonly Promise<Offer>[]): Promise<Offer[]> {
  const results = await Promise.allSettled(offering);
  const failed = results.find((result) => result.status === 'rejected');
  const offers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  if (failed === undefined) return offers;
  await Promise.all(offers.map((offer) => offer.close()));
  throw failed.reason;
}
