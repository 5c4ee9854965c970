// A request that a channel brings, and the memory of its answer.
import { fileOf, readAll } from '../base/file-bytes.js';
import type { Origin } from '../base/origin.js';
import { native } from '../contract/native.js';
import { PREFIX } from './channel.js';
import { ObjectError } from './errors.js';
import { MAX_ANSWER } from './link.js';
import { INLINED } from './protocol.js';
import { isFilePart, type ObjectRequest, type ObjectResponse } from './request.js';
import { shortened } from './system-errors.js';

const HEAD = 4096; // bytes of an answer's head
const ROOM = PREFIX + INLINED + HEAD;
const MAX_ROOMS = 32;

/** Memory of answers that were sent. With new memory for each, a profile showed much garbage collection. */
const rooms: Buffer[] = [];

/** The memory of an answer that was sent may be that of another one. */
export function giveRoom(room: Buffer): void {
  if (room.length === ROOM && rooms.length < MAX_ROOMS) rooms.push(room);
}

/** Who sends the requests of a channel. */
export interface ChannelClient {
  readonly connection: Origin;
  readonly source: string;
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal;
}

export class ChannelRequest implements ObjectRequest {
  readonly method: string;
  readonly url: string;
  readonly fields: Record<string, string>;
  readonly body: Uint8Array;
  readonly #client: ChannelClient;
  #aborting: AbortController | undefined;
  /** The room that was asked for. */
  taken: Buffer | undefined;

  constructor(
    method: string,
    url: string,
    fields: Record<string, string>,
    body: Uint8Array,
    client: ChannelClient,
  ) {
    this.method = method;
    this.url = url;
    this.fields = fields;
    this.body = body;
    this.#client = client;
  }

  get connection(): Origin {
    return this.#client.connection;
  }

  get source(): string {
    return this.#client.source;
  }

  /** Made only where something can be aborted. */
  get signal(): AbortSignal {
    this.#aborting ??= new AbortController();
    if (this.#client.gone.aborted) this.#aborting.abort();
    return this.#aborting.signal;
  }

  abort(): void {
    this.#aborting ??= new AbortController();
    this.#aborting.abort();
  }

  room(): Uint8Array {
    this.taken ??= rooms.pop() ?? Buffer.allocUnsafeSlow(ROOM);
    return this.taken.subarray(PREFIX, PREFIX + INLINED);
  }

  quietly<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }
}

/** The bytes of an answer. Those of a file are read into the memory of their message. */
export async function bytesOf(
  body: ObjectResponse['body'],
  request: ChannelRequest,
): Promise<Uint8Array | undefined> {
  if (typeof body === 'string') return Buffer.from(body);
  if (!isFilePart(body)) return body;
  const { fd, start, end } = body;
  try {
    const length = end - start;
    if (length > MAX_ANSWER / 2) throw new ObjectError('EntityTooLarge');
    request.taken = Buffer.allocUnsafeSlow(PREFIX + length + HEAD);
    const bytes = request.taken.subarray(PREFIX, PREFIX + length);
    if ((await readAll(fileOf(fd), bytes, start)) < length) throw shortened();
    return bytes;
  } finally {
    native.closeDescriptor(fd);
  }
}
