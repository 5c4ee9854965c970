// Requests over node:http.
import { closeSync, createReadStream } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { sourceOfRequest } from '../base/origin.js';
import { isFilePart, type ObjectRequest, type ObjectResponse } from './request.js';
import type { ObjectService } from './service.js';
import { shortened } from './system-errors.js';
import type { Fields } from './versions.js';

const NO_BODY = new Uint8Array();

/** Milliseconds without a byte after which a connection is closed, unless the fabric moves the bytes of its request. */
export const IDLE = 30_000;

/** The bytes of a request. A loop over them that ends early does not end the connection: the client gets an answer. */
const bodyOf = (request: IncomingMessage): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]: () => request.iterator({ destroyOnReturn: false }),
});

function requestOf(request: IncomingMessage, response: ServerResponse): ObjectRequest {
  const { method = '', url = '', headers, socket } = request;
  const hasBody = method === 'PUT' || method === 'POST';
  let aborting: AbortController | undefined;
  return {
    method,
    url,
    fields: headers as Fields,
    body: hasBody ? bodyOf(request) : NO_BODY,
    connection: socket,
    get source() {
      return sourceOfRequest(socket, headers);
    },
    // Made only where something can be aborted.
    get signal() {
      if (aborting) return aborting.signal;
      const controller = new AbortController();
      if (response.closed) controller.abort();
      else response.once('close', () => controller.abort());
      aborting = controller;
      return controller.signal;
    },
    async quietly(work) {
      socket.setTimeout(0);
      return work().finally(() => socket.setTimeout(IDLE));
    },
  };
}

async function send(response: ServerResponse, answer: ObjectResponse): Promise<void> {
  const { status, fields, body } = answer;
  if (!isFilePart(body)) {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const hasLength = 'content-length' in fields || status === 304 || status === 204;
    const length = hasLength ? {} : { 'content-length': String(bytes?.length ?? 0) };
    response.writeHead(status, { ...fields, ...length }).end(bytes);
    return;
  }
  const { fd, start, end } = body;
  if (response.destroyed) return closeSync(fd);
  response.writeHead(status, { ...fields, 'content-length': String(end - start) });
  const file = createReadStream('', { fd, start, end: end - 1 });
  await pipeline(file, wholeOf(end - start), response);
}

/** Passes bytes, and fails if there are fewer than the client was promised. The client then learns that the answer is cut. */
const wholeOf = (length: number) =>
  async function* (chunks: AsyncIterable<Uint8Array>) {
    let left = length;
    for await (const chunk of chunks) {
      left -= chunk.length;
      yield chunk;
    }
    if (left > 0) throw shortened();
  };

/** Answers a request. */
export async function answerHttp(
  service: ObjectService,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await send(response, await service.handle(requestOf(request, response)));
  } catch {
    response.destroy(); // the client is gone, or the file has become shorter
  } finally {
    request.resume(); // what was not read, so that the connection can be used again
  }
}
