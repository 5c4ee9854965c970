// @ts-check
// An object store over HTTP. A GET or a PUT that carries tokens moves its bytes with the transfer engine, between the
// memory of the server and that of the client. Without tokens the bytes are the HTTP body.
//
//   node server.mjs FOLDER [--host localhost] [--port 8080] [--provider tcp] [--node 127.0.0.1]
//
// GET /card               the card of the server's engine
// HEAD, GET, PUT /objects/NAME
//   x-libfabric-card      the card of the client's engine
//   x-libfabric-token     a token for each piece of the object, in order, separated by commas
//   range, if-match       as in HTTP
import { randomUUID } from 'node:crypto';
import { open, rename, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { TransferEngine } from 'libfabric/transfer';
import { etagOf, Refusal, rangeOf, refuse, untilClosed } from './http.mjs';
import { Transfers } from './transfers.mjs';

/** @typedef {import('node:http').IncomingMessage} Request */
/** @typedef {import('node:http').ServerResponse} Response */

const MAX_HEADERS = 2 ** 20; // bytes: the tokens of an object of more than 100 GB

/**
 * Serves the files of a folder. Requests with tokens share `places` buffers of 32 MiB; more of them wait.
 *
 * @param {string} folder
 * @param {TransferEngine} engine
 * @param {{ places?: number }} [options]
 */
export async function objectServer(folder, engine, { places = 4 } = {}) {
  const transfers = await Transfers.open(engine, places);

  return createServer({ maxHeaderSize: MAX_HEADERS }, async (request, response) => {
    try {
      if (request.url === '/card') return response.end(engine.card);
      const name = /^\/objects\/(\w[\w.-]*)$/.exec(request.url ?? '')?.[1];
      if (name === undefined) throw new Refusal(404, 'no such object');
      const method = { GET: get, HEAD: get, PUT: put }[request.method ?? ''];
      if (method === undefined) throw new Refusal(405, 'GET, HEAD or PUT');
      await method(join(folder, name), request, response);
    } catch (error) {
      refuse(response, error);
    }
  });

  /** @param {string} path @param {Request} request @param {Response} response */
  async function get(path, request, response) {
    const signal = untilClosed(response);
    const isHead = request.method === 'HEAD';
    const client = isHead ? undefined : await clientOf(request, 'write');
    const file = await open(path);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new Refusal(404, 'no such object');
      const { start, end } = rangeOf(request.headers.range, stats.size);
      const length = end - start;
      const match = request.headers['if-match'];
      if (match && match !== etagOf(stats)) throw new Refusal(412, 'the object has changed');
      if (client && client.length !== length) throw new Refusal(400, `tokens for ${length} bytes`);

      response.setHeader('etag', etagOf(stats));
      if (request.headers.range) {
        response.statusCode = 206;
        response.setHeader('content-range', `bytes ${start}-${end - 1}/${stats.size}`);
      }
      if (client) {
        await transfers.send(file, start, client, signal);
        response.setHeader('x-libfabric-length', length).end();
      } else {
        response.setHeader('content-length', length);
        if (isHead || length === 0) response.end();
        else await pipeline(file.createReadStream({ start, end: end - 1 }), response);
      }
    } finally {
      await file.close();
    }
  }

  /** @param {string} path @param {Request} request @param {Response} response */
  async function put(path, request, response) {
    const signal = untilClosed(response);
    const client = await clientOf(request, 'read');
    const part = join(folder, `.${randomUUID()}`); // no object's name begins with a dot
    const file = await open(part, 'wx');
    try {
      if (client) await transfers.receive(file, client, signal);
      else await pipeline(request, file.createWriteStream());
      const etag = etagOf(await stat(part));
      await rename(part, path);
      response.writeHead(201, { etag }).end();
    } finally {
      await file.close();
      await rm(part, { force: true });
    }
  }

  /** @param {Request} request @param {'read' | 'write'} access */
  function clientOf(request, access) {
    return transfers.clientOf(request.headers, access).catch((error) => {
      throw error instanceof TypeError ? new Refusal(400, error) : error;
    });
  }
}

if (process.argv[1] === import.meta.filename) {
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
  const engine = await TransferEngine.open(options);
  const server = await objectServer(positionals[0] ?? '.', engine);
  server.listen(Number(port), host, () => {
    console.log(`http://${host}:${Object(server.address()).port}`);
  });
}
