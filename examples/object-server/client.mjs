// @ts-check
// A client of server.mjs. With memory, the bytes of an object go by the transfer engine, else in the HTTP body.
//
//   node client.mjs get URL NAME FILE [--provider tcp] [--node 127.0.0.1]
//   node client.mjs put URL NAME FILE [--provider tcp] [--node 127.0.0.1]
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { TransferEngine } from 'libfabric/transfer';
import { PIECE } from './transfers.mjs';

/** @import { Access, RemoteEngine, TransferMemory } from 'libfabric/transfer' */
/** @typedef {{ memory: TransferMemory, at: number, length: number }} Range */

const EXPIRES = 600_000; // ms: the last piece of an object is offered before the first one moves

const END_TIMEOUT = 1000; // ms

/** The server has refused a request. */
class Refused extends Error {}

/** The objects of a server. */
export class ObjectClient {
  /** @param {string} url @param {TransferEngine} engine @param {RemoteEngine} server */
  constructor(url, engine, server) {
    this.url = url;
    this.engine = engine;
    this.server = server;
  }

  /** @param {string} url @param {TransferEngine} engine */
  static async open(url, engine) {
    const response = await fetch(new URL('/address', url));
    return new ObjectClient(url, engine, await engine.peer(await response.text()));
  }

  /** The length and the etag of an object. @param {string} name */
  async head(name) {
    const { headers } = await this.#fetch(name, { method: 'HEAD' });
    return { length: Number(headers.get('content-length')), etag: String(headers.get('etag')) };
  }

  /**
   * Gets an object: into memory, or without it in the HTTP body.
   *
   * @param {string} name
   * @param {TransferMemory} [memory]
   * @param {RequestInit} [init]
   */
  async get(name, memory, init) {
    if (memory === undefined)
      return new Uint8Array(await (await this.#fetch(name, init)).arrayBuffer());
    const { length, etag } = await this.head(name);
    await this.#offer('write', { memory, at: 0, length }, name, init, { 'if-match': etag });
    return memory.bytes.subarray(0, length);
  }

  /**
   * Gets an object in pieces of half of the memory: one arrives while the program uses the other. A piece is valid until the
   * next one is asked for.
   *
   * @param {string} name
   * @param {TransferMemory} memory
   * @param {RequestInit} [init]
   */
  async *pieces(name, memory, init) {
    const { length, etag } = await this.head(name);
    const half = Math.floor(memory.length / 2);
    /** @param {number} start */
    const next = async (start) => {
      const piece = { memory, at: start % (2 * half), length: Math.min(half, length - start) };
      const range = `bytes=${start}-${start + piece.length - 1}`;
      if (start < length)
        await this.#offer('write', piece, name, init, { range, 'if-match': etag });
      return memory.bytes.subarray(piece.at, piece.at + piece.length);
    };
    let coming = next(0);
    for (let start = 0; start < length; start += half) {
      const bytes = await coming;
      coming = next(start + half);
      coming.catch(() => {}); // thrown by the next turn
      try {
        yield bytes;
      } finally {
        await Promise.allSettled([coming]); // the memory is not in use when the program leaves the loop
      }
    }
  }

  /**
   * Puts an object: from memory, or from other bytes in the HTTP body.
   *
   * @param {string} name
   * @param {TransferMemory | Uint8Array} from
   * @param {RequestInit} [init]
   */
  async put(name, from, init) {
    const put = { ...init, method: 'PUT' };
    const response = await (from instanceof Uint8Array
      ? this.#fetch(name, { ...put, body: from })
      : this.#offer('read', { memory: from, at: 0, length: from.length }, name, put));
    return response.headers.get('etag');
  }

  /**
   * Offers memory to the server, in pieces, for a request that carries the tokens.
   *
   * @param {Access} access
   * @param {Range} range
   * @param {string} name
   * @param {RequestInit} [init]
   * @param {Record<string, string>} [headers]
   */
  async #offer(access, { memory, at, length }, name, init, headers) {
    const starts = Array.from({ length: Math.ceil(length / PIECE) }, (_, i) => i * PIECE);
    const offering = starts.map((start) => {
      const piece = memory.slice(at + start, at + Math.min(start + PIECE, length));
      return piece.offer({ access, to: this.server, expires: EXPIRES });
    });
    const offers = await Promise.all(offering);
    try {
      const all = new Headers(init?.headers);
      for (const [header, value] of Object.entries(headers ?? {})) all.set(header, value);
      if (length > 0) {
        all.set('x-libfabric-address', this.engine.address);
        all.set('x-libfabric-token', offers.map(({ token }) => token).join(','));
      }
      const response = await this.#fetch(name, { ...init, headers: all });
      if (access === 'write') await Promise.all(offers.map(({ arrived }) => arrived));
      return response;
    } catch (error) {
      // After an abort the server ends its transfers, and with them the offers. Then no copy is in flight when the keys
      // end.
      const ended = Promise.all(offers.map(({ released }) => released));
      if (!(error instanceof Refused)) await Promise.race([ended, sleep(END_TIMEOUT)]);
      throw error;
    } finally {
      await Promise.all(offers.map((offer) => offer.close()));
    }
  }

  /** @param {string} name @param {RequestInit} [init] */
  async #fetch(name, init) {
    const response = await fetch(new URL(`/objects/${name}`, this.url), init);
    if (response.ok) return response;
    const reason = (await response.text()).trim() || response.statusText;
    throw new Refused(`${name}: ${response.status} ${reason}`);
  }
}

/** @param {ObjectClient} client @param {string} name @param {string} path */
async function getFile(client, name, path) {
  const memory = await client.engine.allocate(4 * PIECE);
  const part = `${path}.part`;
  try {
    await writeFile(part, client.pieces(name, memory));
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}

/** @param {ObjectClient} client @param {string} name @param {string} path */
async function putFile(client, name, path) {
  const file = await open(path);
  const { size } = await file.stat();
  const memory = await client.engine.allocate(Math.max(size, 1));
  let at = 0;
  for await (const chunk of file.createReadStream()) {
    memory.bytes.set(chunk, at);
    at += chunk.length;
  }
  await client.put(name, size === 0 ? new Uint8Array() : memory);
}

async function main() {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { provider: { type: 'string' }, node: { type: 'string' } },
  });
  const [command, url, name, path] = positionals;
  const run = command === 'get' ? getFile : command === 'put' ? putFile : undefined;
  if (!run || !url || !name || !path)
    throw new Error('usage: node client.mjs get|put URL NAME FILE');
  const engine = await TransferEngine.open(values);
  try {
    await run(await ObjectClient.open(url, engine), name, path);
  } finally {
    await engine.close();
  }
}

if (process.argv[1] === import.meta.filename) {
  try {
    await main();
  } catch (error) {
    const { message, cause } = /** @type {Error & { cause?: NodeJS.ErrnoException }} */ (error);
    console.error(cause ? `${message}: ${cause.code ?? cause.message}` : message);
    process.exitCode = 1;
  }
}
