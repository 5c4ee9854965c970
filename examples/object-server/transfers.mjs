// @ts-check
// The server's half of the transfers: files to clients' memory, and clients' memory to files.

/** @import { FileHandle } from 'node:fs/promises' */
/** @import { IncomingHttpHeaders } from 'node:http' */
/** @import { Grant, MemoryPart, RemoteEngine, Transfer, TransferEngine, TransferMemory } from 'libfabric/transfer' */
/** @typedef {{ remote: RemoteEngine, grants: Grant[], length: number }} Client */
/** @typedef {(part: MemoryPart, bytes: Uint8Array, grant: Grant, offset: number) => Promise<void>} Move */

/** The most bytes that a token may open. */
export const PIECE = 16 * 2 ** 20;

/** Moves files through a fixed number of buffers, each of two pieces. More requests than buffers wait for one. */
export class Transfers {
  /** @type {((memory: TransferMemory) => void)[]} */
  #waiting = [];

  /** @param {TransferEngine} engine @param {TransferMemory[]} free */
  constructor(engine, free) {
    this.engine = engine;
    /** Places that no request uses. */
    this.free = free;
  }

  /** @param {TransferEngine} engine @param {number} buffers */
  static async open(engine, buffers) {
    const allocating = Array.from({ length: buffers }, () => engine.allocate(2 * PIECE));
    return new Transfers(engine, await Promise.all(allocating));
  }

  /**
   * The client of a request and the grants of its tokens. Undefined without tokens.
   *
   * @param {IncomingHttpHeaders} headers
   * @param {'read' | 'write'} access
   * @returns {Promise<Client | undefined>}
   * @throws TypeError if the address or a token is wrong.
   */
  async clientOf({ 'x-libfabric-address': address, 'x-libfabric-token': tokens }, access) {
    if (tokens === undefined) return undefined;
    const remote = await this.engine.peer(String(address));
    const grants = String(tokens)
      .split(',')
      .map((token) => remote.grant(token.trim()));
    if (grants.some((grant) => grant.access !== access || grant.length > PIECE)) {
      throw new TypeError(`a token must be for a ${access} of at most ${PIECE} bytes`);
    }
    return { remote, grants, length: grants.reduce((sum, { length }) => sum + length, 0) };
  }

  /**
   * Writes a file, from `start`, to the client's memory.
   *
   * @param {FileHandle} file
   * @param {number} start
   * @param {Client} client
   * @param {AbortSignal} signal
   */
  send(file, start, { remote, grants }, signal) {
    return this.#move(grants, signal, async (part, bytes, grant, offset) => {
      const { bytesRead } = await file.read(bytes, 0, bytes.length, start + offset);
      if (bytesRead < bytes.length) throw new Error('the file has become shorter');
      await ended(remote.write(part, grant, { signal }));
    });
  }

  /**
   * Reads the client's memory into a file.
   *
   * @param {FileHandle} file
   * @param {Client} client
   * @param {AbortSignal} signal
   */
  receive(file, { remote, grants }, signal) {
    return this.#move(grants, signal, async (part, bytes, grant, offset) => {
      await ended(remote.read(grant, part, { signal }));
      const { bytesWritten } = await file.write(bytes, 0, bytes.length, offset);
      if (bytesWritten < bytes.length) throw new Error('the file system is full');
    });
  }

  /** @returns {Promise<TransferMemory>} */
  #wait() {
    return new Promise((free) => this.#waiting.push(free));
  }

  /**
   * Moves the pieces through the two halves of a buffer: one is transferred while the file is read into, or written
   * from, the other.
   *
   * @param {Grant[]} grants
   * @param {AbortSignal} signal
   * @param {Move} move
   */
  async #move(grants, signal, move) {
    const memory = this.free.pop() ?? (await this.#wait());
    try {
      const pieces = piecesOf(grants); // both halves take from it, and a failure of one closes it
      const halves = [0, PIECE].map(async (at) => {
        for (const { grant, offset } of pieces) {
          signal.throwIfAborted();
          const bytes = memory.bytes.subarray(at, at + grant.length);
          await move(memory.slice(at, at + grant.length), bytes, grant, offset);
        }
      });
      const failed = (await Promise.allSettled(halves)).find(({ status }) => status === 'rejected');
      if (failed !== undefined) throw /** @type {PromiseRejectedResult} */ (failed).reason;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.free.push(memory);
      else next(memory);
    }
  }
}

/** @param {Grant[]} grants */
function* piecesOf(grants) {
  let offset = 0;
  for (const grant of grants) {
    yield { grant, offset };
    offset += grant.length;
  }
}

/**
 * Waits until a transfer has ended and its memory is free, also if it fails.
 *
 * @param {Transfer} transfer
 */
async function ended(transfer) {
  try {
    await transfer;
  } finally {
    await transfer.released;
  }
}
