// The server's half of the fabric: which headers name the memory of a client, and how the bytes of a file get there and
// back. Nothing else of the server knows of engines.

import { read as readWithCallback } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import type {
  Grant,
  MemoryLease,
  RemoteEngine,
  Transfer,
  TransferEngine,
} from '../transfer/index.js';
import type { MemoryPool } from '../transfer/memory-pool.js';
import { ObjectError } from './errors.js';
import type { Fields, Range } from './versions.js';

const read = promisify(readWithCallback);

/** The header with the address of a client's engine. */
export const ADDRESS = 'x-libfabric-address';
/** The header with a token for each piece of the bytes, in order, separated by commas. */
export const TOKENS = 'x-libfabric-token';

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

  constructor(engine: TransferEngine, pool: MemoryPool) {
    this.#engine = engine;
    this.#pool = pool;
  }

  /** The address of the server's engine. */
  get address(): string {
    return this.#engine.address;
  }

  /** The most bytes that a token may open. */
  get piece(): number {
    return this.#pool.size;
  }

  /** The memory that a request offers for an access. Undefined if it offers none. */
  async clientOf(fields: Fields, access: 'read' | 'write'): Promise<Client | undefined> {
    const tokens = fields[TOKENS];
    if (tokens === undefined) return undefined;
    try {
      const remote = await this.#engine.peer(fields[ADDRESS] ?? '');
      const grants = tokens.split(',').map((token) => remote.grant(token.trim()));
      if (grants.some((grant) => grant.access !== access || grant.length > this.piece)) {
        const detail = `a token must be for a ${access} of at most ${this.piece} bytes`;
        throw new ObjectError('InvalidToken', { detail });
      }
      return { remote, grants, length: grants.reduce((sum, { length }) => sum + length, 0) };
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw new ObjectError('InvalidToken', { detail: error.message });
    }
  }

  /** Writes a part of a file to the memory of a client. */
  send(fd: number, { start, end }: Range, client: Client, signal: AbortSignal): Promise<void> {
    if (client.length !== end - start) {
      const detail = `the tokens are for ${client.length} bytes, not ${end - start}`;
      throw new ObjectError('InvalidToken', { detail });
    }
    return this.#move(client, signal, async (lease, grant, offset) => {
      const { bytesRead } = await read(fd, lease.bytes, 0, lease.length, start + offset);
      if (bytesRead < lease.length) throw new Error('the file has become shorter');
      await ended(client.remote.write(lease, grant, { signal }));
    });
  }

  /** Reads the memory of a client into a file, from `start`. */
  receive(file: FileHandle, start: number, client: Client, signal: AbortSignal): Promise<void> {
    return this.#move(client, signal, async (lease, grant, offset) => {
      await ended(client.remote.read(grant, lease, { signal }));
      const { bytesWritten } = await file.write(lease.bytes, 0, lease.length, start + offset);
      if (bytesWritten < lease.length) throw new ObjectError('InsufficientStorage');
    });
  }

  // Each worker holds one lease at a time, so requests that share few of them all go on.
  async #move({ grants }: Client, signal: AbortSignal, move: Move): Promise<void> {
    const pieces = piecesOf(grants); // the workers take from it, and a failure of one closes it
    const work = async () => {
      for (const { grant, offset } of pieces) {
        signal.throwIfAborted();
        await using lease = await this.#pool.acquire(grant.length, { signal });
        await move(lease, grant, offset);
      }
    };
    const results = await Promise.allSettled(Array.from({ length: AT_ONCE }, work));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

function* piecesOf(grants: readonly Grant[]) {
  let offset = 0;
  for (const grant of grants) {
    yield { grant, offset };
    offset += grant.length;
  }
}

/** Waits until a transfer has ended and its memory is free, also if it fails. */
async function ended(transfer: Transfer): Promise<void> {
  try {
    await transfer;
  } finally {
    await transfer.released;
  }
}
