// Hashes that node:crypto and node:zlib compute, and CRC-32C, on a thread of their own.

import { Worker } from 'node:worker_threads';
import { withoutContext } from '../base/async-context.js';
import { Deferred } from '../base/deferred.js';

/** The algorithms of the thread. */
export type HashAlgorithm = 'sha256' | 'sha1' | 'md5' | 'crc32' | 'crc32c';

interface Answer {
  readonly id: number;
  readonly digest?: string;
  readonly error?: string;
  readonly code?: string;
}

// A descriptor belongs to the process, so the thread can read the file.
const PROGRAM = `
const { parentPort } = require('node:worker_threads');
const { createHash } = require('node:crypto');
const { readSync } = require('node:fs');
const { crc32 } = require('node:zlib');
const buffer = Buffer.allocUnsafeSlow(1 << 20);
// Eight tables, for eight bytes at once. The polynomial of CRC-32C is reflected.
const tables = new Int32Array(8 * 256);
for (let byte = 0; byte < 256; byte++) {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0x82f63b78 : 0);
  tables[byte] = rest;
}
for (let at = 256; at < tables.length; at++)
  tables[at] = (tables[at - 256] >>> 8) ^ tables[tables[at - 256] & 255];
const crc32c = (b, value) => {
  const t = tables;
  let crc = ~value;
  let i = 0;
  for (; i + 8 <= b.length; i += 8) {
    crc ^= b[i] | (b[i + 1] << 8) | (b[i + 2] << 16) | (b[i + 3] << 24);
    crc = t[1792 + (crc & 255)] ^ t[1536 + ((crc >>> 8) & 255)] ^ t[1280 + ((crc >>> 16) & 255)] ^
      t[1024 + (crc >>> 24)] ^ t[768 + b[i + 4]] ^ t[512 + b[i + 5]] ^ t[256 + b[i + 6]] ^ t[b[i + 7]];
  }
  for (; i < b.length; i++) crc = (crc >>> 8) ^ t[(crc ^ b[i]) & 255];
  return ~crc >>> 0;
};
const crcBy = (add) => {
  let value = 0;
  return {
    update: (bytes) => { value = add(bytes, value); },
    digest: () => { const four = Buffer.alloc(4); four.writeUInt32BE(value); return four.toString('base64'); },
  };
};
const hashBy = (algorithm) =>
  algorithm === 'crc32' ? crcBy(crc32) : algorithm === 'crc32c' ? crcBy(crc32c) : createHash(algorithm);
parentPort.on('message', ({ id, algorithm, bytes, fd, start, end }) => {
  try {
    const hash = hashBy(algorithm);
    if (bytes) hash.update(bytes);
    while (start < end) {
      const got = readSync(fd, buffer, 0, Math.min(buffer.length, end - start), start);
      if (got === 0) throw Object.assign(new Error('the file has become shorter'), { code: 'ENODATA' });
      hash.update(buffer.subarray(0, got));
      start += got;
    }
    parentPort.postMessage({ id, digest: hash.digest('base64') });
  } catch (error) {
    parentPort.postMessage({ id, error: error.message, code: error.code });
  }
});
`;

const waiting = new Map<number, Deferred<string>>();
let thread: Worker | undefined;
let lastId = 0;

function started(): Worker {
  if (thread) return thread;
  const worker = withoutContext(() => new Worker(PROGRAM, { eval: true, stdin: false }));
  worker.on('message', ({ id, digest, error, code }: Answer) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (digest === undefined) call?.reject(Object.assign(new Error(error), { code }));
    else call?.resolve(digest);
    if (waiting.size === 0) worker.unref();
  });
  const failAll = (error: Error) => {
    if (thread !== worker) return; // its calls have failed, and another one has its place
    thread = undefined;
    for (const call of waiting.values()) call.reject(error);
    waiting.clear();
  };
  worker.on('error', failAll);
  worker.on('exit', () => failAll(new Error('the thread that computes checksums has ended')));
  thread = worker;
  return worker;
}

interface FileBytes {
  readonly fd: number;
  readonly start: number;
  readonly end: number;
}

function hashOn(
  algorithm: HashAlgorithm,
  source: FileBytes | { readonly bytes: Uint8Array },
): Promise<string> {
  const worker = started();
  worker.ref();
  const id = ++lastId;
  const call = new Deferred<string>();
  waiting.set(id, call);
  worker.postMessage({ id, algorithm, ...source });
  return call.promise;
}

/** The hash of the bytes [start, end) of a file, in base64. The file stays open until it is known. */
export const hashOfFile = (
  algorithm: HashAlgorithm,
  fd: number,
  start: number,
  end: number,
): Promise<string> => hashOn(algorithm, { fd, start, end });

/** The hash of few bytes, which are copied, in base64. */
export const hashOfBytes = (algorithm: HashAlgorithm, bytes: Uint8Array): Promise<string> =>
  hashOn(algorithm, { bytes });
