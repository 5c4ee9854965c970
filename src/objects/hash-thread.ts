// Hashes of files that node:crypto and node:zlib compute, on a thread of their own.

import { Worker } from 'node:worker_threads';
import { withoutContext } from '../base/async-context.js';
import { Deferred } from '../base/deferred.js';

/** The algorithms of the thread. */
export type HashAlgorithm = 'sha256' | 'sha1' | 'md5' | 'crc32';

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
const crc = () => {
  let value = 0;
  return {
    update: (bytes) => { value = crc32(bytes, value); },
    digest: () => { const four = Buffer.alloc(4); four.writeUInt32BE(value); return four.toString('base64'); },
  };
};
parentPort.on('message', ({ id, algorithm, fd, start, end }) => {
  try {
    const hash = algorithm === 'crc32' ? crc() : createHash(algorithm);
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

/** The hash of the bytes [start, end) of a file, in base64. The file stays open until it is known. */
export function hashOfFile(
  algorithm: HashAlgorithm,
  fd: number,
  start: number,
  end: number,
): Promise<string> {
  const worker = started();
  worker.ref();
  const id = ++lastId;
  const call = new Deferred<string>();
  waiting.set(id, call);
  worker.postMessage({ id, algorithm, fd, start, end });
  return call.promise;
}
