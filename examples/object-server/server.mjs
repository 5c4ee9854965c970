// @ts-check
// An object store over HTTP. A GET or a PUT that carries tokens moves its bytes with the transfer engine, between the
// memory of the server and that of the client. Without tokens the bytes are the HTTP body.
//
//   npm install range-parser fresh
//   node server.mjs FOLDER [--host localhost] [--port 8080] [--provider tcp] [--node 127.0.0.1]
//
// GET /address          the address of the server's engine
// HEAD, GET, PUT /objects/NAME
//   x-libfabric-address   the address of the client's engine
//   x-libfabric-token     a token for each piece of the object, in order, separated by commas
//   range, if-range, if-match, if-none-match, if-modified-since, if-unmodified-since: as in HTTP, with one range
//
// Objects are the regular files of the folder. Links, FIFOs and the like are none.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { constants, lstatSync, renameSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { TransferEngine } from 'libfabric/transfer';
import {
  checkConditions,
  isFresh,
  Refusal,
  rangeOf,
  refuse,
  untilClosed,
  validatorsOf,
} from './http.mjs';
import { Transfers } from './transfers.mjs';

/** @typedef {import('node:http').IncomingMessage} Request */
/** @typedef {import('node:http').ServerResponse} Response */

const MAX_HEADERS = 2 ** 20; // bytes: the tokens of an object of more than 100 GB
const MAX_NAME = 255; // bytes, of Linux

const LIMITS = {
  maxHeaderSize: MAX_HEADERS,
  headersTimeout: 10_000, // ms
  connectionsCheckingInterval: 1000,
  requestTimeout: 0, // no limit, because large bodies take long
};
const IDLE = 30_000; // ms: a connection without traffic is closed after this time, unless the engine moves its bytes
const MAX_CONNECTIONS = 1000;

// Opening a FIFO would wait for another process, and a link may lead out of the folder.
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Serves the files of a folder. Requests with tokens share `buffers` pieces of memory of 32 MiB; more of them wait.
 *
 * @param {string} folder
 * @param {TransferEngine} engine
 * @param {{ buffers?: number }} [options]
 */
export async function objectServer(folder, engine, { buffers = 4 } = {}) {
  const transfers = await Transfers.open(engine, buffers);

  const server = createServer(LIMITS, async (request, response) => {
    try {
      if (request.url === '/address') return response.end(engine.address);
      const name = /^\/objects\/(\w[\w.-]*)$/.exec(request.url ?? '')?.[1];
      if (name === undefined) throw new Refusal(404, 'no such object');
      if (name.length > MAX_NAME) throw new Refusal(400, `a name has at most ${MAX_NAME} bytes`);
      const method = { GET: get, HEAD: get, PUT: put }[request.method ?? ''];
      if (method === undefined) throw new Refusal(405, 'GET, HEAD or PUT');
      await method(join(folder, name), request, response);
    } catch (error) {
      refuse(response, error);
    }
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(IDLE);
  return server;

  /**
   * Waits for the engine, without a byte over HTTP.
   *
   * @param {Request} request
   * @param {Promise<void>} moving
   */
  async function engineMoves({ socket }, moving) {
    socket.setTimeout(0);
    await moving.finally(() => socket.setTimeout(IDLE));
  }

  /** @param {string} path @param {Request} request @param {Response} response */
  async function get(path, request, response) {
    const signal = untilClosed(response);
    const isHead = request.method === 'HEAD';
    const client = isHead ? undefined : await clientOf(request, 'write');
    const file = await open(path, READ);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new Refusal(404, 'no such object');
      checkConditions(request, stats);
      for (const [name, value] of Object.entries(validatorsOf(stats)))
        response.setHeader(name, value);
      if (isFresh(request, stats)) return response.writeHead(304).end();
      const range = rangeOf(request, stats);
      const { start, end } = range ?? { start: 0, end: stats.size - 1 };
      const length = end + 1 - start;
      if (client && client.length !== length) throw new Refusal(400, `tokens for ${length} bytes`);

      response.setHeader('accept-ranges', 'bytes');
      if (range) {
        response.statusCode = 206;
        response.setHeader('content-range', `bytes ${start}-${end}/${stats.size}`);
      }
      if (client) {
        await engineMoves(request, transfers.send(file, start, client, signal));
        response.setHeader('x-libfabric-length', length).end();
      } else {
        response.setHeader('content-length', length);
        if (isHead || length === 0) response.end();
        else await pipeline(file.createReadStream({ start, end }), response);
      }
    } finally {
      await file.close();
    }
  }

  /** @param {string} path @param {Request} request @param {Response} response */
  async function put(path, request, response) {
    const signal = untilClosed(response);
    const client = await clientOf(request, 'read');
    replaced(path, request);
    const part = join(folder, `.${randomUUID()}`); // no object's name begins with a dot
    const file = await open(part, 'wx');
    try {
      if (client) await engineMoves(request, transfers.receive(file, client, signal));
      else await pipeline(request, file.createWriteStream());
      // No other request runs between this line and the rename.
      const validators = validatorsOf(lstatSync(part));
      const status = replaced(path, request) ? 200 : 201;
      renameSync(part, path);
      response.writeHead(status, validators).end();
    } finally {
      await file.close();
      await rm(part, { force: true });
    }
  }

  /**
   * Whether a PUT replaces an object. Throws a Refusal if it must not.
   *
   * @param {string} path
   * @param {Request} request
   */
  function replaced(path, request) {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats && !stats.isFile()) throw new Refusal(409, 'the name is not that of an object');
    checkConditions(request, stats);
    return stats !== undefined;
  }

  /** @param {Request} request @param {'read' | 'write'} access */
  function clientOf(request, access) {
    return transfers.clientOf(request.headers, access).catch((error) => {
      throw error instanceof TypeError ? new Refusal(400, error) : error;
    });
  }
}

async function main() {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      host: { type: 'string', default: 'localhost' },
      port: { type: 'string', default: '8080' },
      provider: { type: 'string' },
      node: { type: 'string' },
    },
  });
  const { host, port, ...options } = values;
  if (!/^\d+$/.test(port) || Number(port) > 65_535) {
    throw new Error(`--port is ${port}, not a number from 0 to 65535`);
  }
  const engine = await TransferEngine.open(options);
  const server = await objectServer(positionals[0] ?? '.', engine);
  await once(server.listen(Number(port), host), 'listening').catch(async (error) => {
    await engine.close();
    throw error;
  });
  console.log(`http://${host}:${Object(server.address()).port}`);
}

if (process.argv[1] === import.meta.filename) {
  try {
    await main();
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    process.exitCode = 1;
  }
}
