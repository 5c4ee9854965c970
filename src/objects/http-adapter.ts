// Requests over node:http.
import { createReadStream, read } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { sourceOfRequest } from '../base/origin.js';
import { TimeLimit } from '../base/time-limit.js';
import { native } from '../contract/native.js';
import { isFilePart, type ObjectRequest, type ObjectResponse } from './request.js';
import type { ObjectService } from './service.js';
import { shortened } from './system-errors.js';
import type { Fields } from './versions.js';

const NO_BODY = new Uint8Array();

/** Milliseconds without a byte after which a connection is closed, unless the fabric moves the bytes of its request. */
export const IDLE = 30_000;
/** The longest body, in bytes, of which the rest is read after an error, so that its connection can be used again. */
const MAX_DRAINED = 1024 * 1024;
/** Milliseconds for the client to see the answer before the connection ends. */
const LINGER = 5000;
/** The requests of a connection that wait for the answer to another one. A connection with more of them ends. */
const MAX_PIPELINED = 64;

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

/** Whether a request goes on for longer than it is worth to read for another request over its connection. */
function isCut({ complete, headers }: IncomingMessage): boolean {
  const length = headers['transfer-encoding'] ? Number.NaN : Number(headers['content-length'] ?? 0);
  return !complete && !(length <= MAX_DRAINED);
}

/** Reads what a client still sends: it may look for the answer when all was sent, or lose it by the reset. */
function drained(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const limit = new TimeLimit(LINGER, resolve).unref();
    for (const event of ['end', 'close']) request.once(event, resolve);
    request.once('close', () => limit.clear()).resume();
  });
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  answer: ObjectResponse,
): Promise<void> {
  const { status, fields, body } = answer;
  if (!isFilePart(body)) {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const hasLength = 'content-length' in fields || status === 304 || status === 204;
    const length = hasLength ? {} : { 'content-length': String(bytes?.length ?? 0) };
    if (!isCut(request)) {
      response.writeHead(status, { ...fields, ...length }).end(bytes);
      return;
    }
    response.writeHead(status, { ...fields, ...length, connection: 'close' });
    if (bytes?.length && request.method !== 'HEAD') response.write(bytes);
    else response.flushHeaders();
    await drained(request);
    response.end();
    return;
  }
  const { fd, start, end } = body;
  if (response.destroyed) {
    native.closeDescriptor(fd);
    return;
  }
  const close = isCut(request) && { connection: 'close' };
  response.writeHead(status, { ...fields, ...close, 'content-length': String(end - start) });
  const file = createReadStream('', { fd, fs: FILES, start, end: end - 1 });
  await pipeline(file, wholeOf(end - start), response);
}

/** How a file is read and closed that native code has opened. */
const FILES = {
  read,
  close: (fd: number, done: (error: Error | null) => void) => {
    native.closeDescriptor(fd);
    done(null);
  },
};

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

/** The requests of a connection that wait for the answer to the one before them. */
const pipelines = new WeakMap<Socket, (() => void)[]>();

/** Whether a request of a connection has no answer yet. */
export const isAnswering = (socket: Socket): boolean => pipelines.has(socket);

/**
 * Answers a request, after those that its connection has sent before. node:http hands over all that a client sends without
 * waiting for answers, which would else have a file and an answer in memory for each.
 */
export function answerHttp(
  service: ObjectService,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { socket } = request;
  const waiting = pipelines.get(socket);
  if (waiting && waiting.length >= MAX_PIPELINED) {
    socket.destroy();
    return;
  }
  const start = () => {
    response.once('close', () => {
      const next = pipelines.get(socket)?.shift();
      if (next === undefined) pipelines.delete(socket);
      else if (!socket.destroyed) next();
    });
    void answer(service, request, response);
  };
  if (waiting) {
    waiting.push(start);
    return;
  }
  pipelines.set(socket, []);
  start();
}

async function answer(
  service: ObjectService,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await send(request, response, await service.handle(requestOf(request, response)));
  } catch {
    response.destroy(); // the client is gone, or the file has become shorter
  } finally {
    request.resume(); // what was not read, so that the connection can be used again
  }
}
