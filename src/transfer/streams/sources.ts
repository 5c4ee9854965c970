import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { countAsHandled } from '../../base/cancellation.js';
import { checkBytes } from '../../base/checks.js';
import { invalidArgType, invalidState } from '../../base/errors.js';
import { isArray, isInstance, isRevoked } from '../../base/objects.js';
import { bytesOf } from '../../base/views.js';
import { within } from '../../base/wait-options.js';
import { BlobSource } from './blob-source.js';
import { checkFileRange, type FileRange, isFileRange } from './file-range.js';
import { FileSource } from './file-source.js';

/** Bytes that a stream takes in their order. */
export interface ByteSource {
  /** Resolves to true when there are bytes, to false if there are no more. A file may say true at its end. */
  ready(signal: AbortSignal): Promise<boolean>;
  /**
   * Puts the next bytes into `into`. Fills it, unless the bytes end, or `idle` resolves when there are some.
   *
   * @returns the number of bytes. 0: there are no more.
   */
  fill(into: Uint8Array, signal: AbortSignal, idle: Promise<unknown> | undefined): Promise<number>;
  /** Refuses a source that cannot have the bytes that were asked for. Called before fill(), or not at all. */
  check?(): Promise<void>;
  /** Ends the source before all its bytes were taken. Waits for nothing. */
  cancel(reason?: unknown): void;
}

/** What a stream may be made from: bytes in parts, such as a stream of Node.js or of the web, a Blob, or a file. */
export type StreamSource =
  | AsyncIterable<Uint8Array>
  | Iterable<Uint8Array>
  | Blob
  | FileHandle
  | FileRange;

/** What a source may be. */
export interface SourceKind {
  /** For the error of a wrong one. It completes "must be ...". */
  readonly expected: string;
  /** Makes bytes of a part, if it may have another form. */
  bytesOf(part: unknown): unknown;
}

/** Calls what takes a source. If that fails, also before the first byte, the source is ended. */
export async function taking<S extends ByteSource | undefined, T>(
  source: S,
  take: (source: S) => Promise<T>,
): Promise<T> {
  try {
    return await take(source);
  } catch (error) {
    source?.cancel(error);
    throw error;
  }
}

const KIND: SourceKind = {
  expected: 'a stream, an iterable of Uint8Arrays, a Blob, a FileHandle, or { file, start, end }',
  bytesOf: (part) => part,
};

export function sourceOf(name: string, given: StreamSource, kind = KIND): ByteSource {
  const isObject = typeof given === 'object' && given !== null && !isRevoked(given);
  if (!isObject || given instanceof Uint8Array) throw invalidArgType(name, kind.expected, given);
  if (isFileRange(given)) return new FileSource(name, checkFileRange(name, given));
  if (isInstance(given, Blob)) return new BlobSource(given);
  const iteration = iterationOf(name, given);
  if (iteration === undefined) throw invalidArgType(name, kind.expected, given);
  return new PartsSource(`a part of ${name}`, iteration, kind);
}

/** Refuses an array with a part that is not bytes. The parts of other sources are known only when they are taken. */
export function checkParts(name: string, given: StreamSource): void {
  if (!isArray(given)) return;
  for (const part of given) checkBytes(`a part of ${name}`, part);
}

interface Iteration {
  next(): Promise<IteratorResult<Uint8Array>> | IteratorResult<Uint8Array>;
  /** Ends the iteration, also while a part is awaited. */
  cancel(reason: unknown): unknown;
}

interface Destroyable {
  destroy(): void;
}

const wasRead = (name: string) =>
  invalidState(`${name} was read to its end before the call: it has no bytes left`);

// The iterators of streams end only after the part that they wait for.
function iterationOf(name: string, given: object): Iteration | undefined {
  const { destroy, getReader } = given as Partial<Destroyable & ReadableStream<Uint8Array>>;
  if (destroy === undefined && typeof getReader === 'function')
    return iterationOfWeb(name, given as ReadableStream<Uint8Array>);
  if ((given as Partial<Readable>).readableEnded === true) throw wasRead(name);
  const iterator = iteratorOf(given);
  if (typeof iterator?.next !== 'function') return undefined;
  const cancel = () => (destroy === undefined ? iterator.return?.() : destroy.call(given));
  return { next: () => iterator.next(), cancel };
}

function iterationOfWeb(name: string, stream: ReadableStream<Uint8Array>): Iteration {
  let isUsed = Readable.isDisturbed(stream as never);
  const reader = stream.getReader();
  const next = async () => {
    const found = (await reader.read()) as IteratorResult<Uint8Array>;
    if (found.done && isUsed) throw wasRead(name);
    isUsed = false;
    return found;
  };
  return { next, cancel: (reason) => reader.cancel(reason) };
}

type Parts = Partial<Set<Uint8Array> & AsyncIterable<Uint8Array>>;

/** What has entries, such as a Map or FormData, has no parts, also if it is empty. */
function iteratorOf(given: Parts): AsyncIterator<Uint8Array> | Iterator<Uint8Array> | undefined {
  const { [Symbol.asyncIterator]: later, [Symbol.iterator]: now, entries, values } = given;
  if (typeof later === 'function') return later.call(given);
  const hasEntries = typeof entries === 'function' && now !== values;
  return typeof now === 'function' && !hasEntries ? now.call(given) : undefined;
}

/** Bytes that come in parts of any length. */
export abstract class PartwiseSource implements ByteSource {
  #part: Uint8Array = new Uint8Array();
  #left = 0;

  /** Waits for the next part. Returns false if there are no more, or if `idle` resolves first. */
  protected abstract next(
    signal: AbortSignal,
    idle: Promise<unknown> | undefined,
  ): Promise<boolean>;
  /** All bytes of a part were taken. */
  protected taken(): void {}
  abstract cancel(): void;

  /** Adds the next part. */
  protected add(part: Uint8Array): void {
    this.#part = bytesOf(part);
    this.#left = this.#part.length;
  }

  /** Whether a part has bytes that were not taken. */
  protected get hasBytes(): boolean {
    return this.#left > 0;
  }

  async ready(signal: AbortSignal): Promise<boolean> {
    return this.hasBytes || this.next(signal, undefined);
  }

  async fill(into: Uint8Array, signal: AbortSignal, idle?: Promise<unknown>): Promise<number> {
    let at = 0;
    while (at < into.length) {
      if (this.#left === 0 && !(await this.next(signal, at > 0 ? idle : undefined))) break;
      at += this.#takeInto(into.subarray(at));
    }
    return at;
  }

  #takeInto(room: Uint8Array): number {
    if (this.#left > 0 && this.#part.length === 0)
      throw invalidState('the buffer of a chunk was detached or made shorter before it was sent');
    const bytes = this.#part.subarray(0, room.length);
    room.set(bytes);
    this.#part = this.#part.subarray(bytes.length);
    this.#left -= bytes.length;
    if (this.#left === 0) this.taken();
    return bytes.length;
  }
}

/** Waits for one of two promises. */
export const eitherOf = (
  promise: Promise<unknown>,
  idle: Promise<unknown> | undefined,
  signal: AbortSignal,
): Promise<void> => {
  const first = idle === undefined ? promise : Promise.race([promise, idle]);
  return within(
    first.then(() => {}),
    { signal, timeout: undefined },
    'stream',
  );
};

/** The parts of an iterable. */
class PartsSource extends PartwiseSource {
  readonly #name: string;
  readonly #iteration: Iteration;
  readonly #kind: SourceKind;
  #asked: Promise<IteratorResult<Uint8Array>> | undefined;
  #isOver = false;

  constructor(name: string, iteration: Iteration, kind: SourceKind) {
    super();
    this.#name = name;
    this.#iteration = iteration;
    this.#kind = kind;
  }

  protected async next(signal: AbortSignal, idle: Promise<unknown> | undefined): Promise<boolean> {
    while (!this.hasBytes) {
      if (this.#isOver) return false;
      this.#asked ??= Promise.resolve(this.#iteration.next());
      await eitherOf(this.#asked, idle, signal);
      if (idle !== undefined && !(await isSettled(this.#asked))) return false;
      const asked = await this.#asked;
      this.#asked = undefined;
      this.#take(asked);
    }
    return true;
  }

  #take({ done, value }: IteratorResult<Uint8Array>): void {
    if (done) this.#isOver = true;
    else this.add(checkBytes(this.#name, this.#kind.bytesOf(value)));
  }

  cancel(reason?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#asked?.catch(() => {});
    countAsHandled((async () => this.#iteration.cancel(reason))());
  }
}

const PENDING = {};
const isSettled = async (promise: Promise<unknown>) =>
  (await Promise.race([promise, PENDING])) !== PENDING;
