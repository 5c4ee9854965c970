import { setTimeout as sleep } from 'node:timers/promises';
import { type Meeting, meet, type OobSocket, PeerGone } from '../../common/oob.js';

const LENGTH_BYTES = 4;
const MOST_BYTES = 1 << 20;

type Message = { readonly note: unknown } | { readonly farewell: string };

/** The other side, as far as the two agree on what comes next: over TCP, a JSON text at a time. */
export class Partner {
  readonly #socket: OobSocket;

  private constructor(socket: OobSocket) {
    this.#socket = socket;
  }

  static async meet(where: Meeting, signal: AbortSignal): Promise<Partner> {
    return new Partner(await meet(where, signal));
  }

  tell(note: unknown): void {
    this.#send({ note });
  }

  /** What it tells next. Throws PeerGone when it has ended, or says nothing for so long. */
  async hear(seconds: number): Promise<unknown> {
    const waiting = new AbortController();
    const late = sleep(seconds * 1000, undefined, { signal: waiting.signal }).then(() => {
      throw new PeerGone(`the other side has not answered for ${seconds} s`);
    });
    late.catch(() => {}); // where it is not late
    try {
      return await Promise.race([this.#receive(), late]);
    } finally {
      waiting.abort();
    }
  }

  /** Ends the connection, with a reason where not all is done. */
  end(reason?: string): void {
    if (reason !== undefined && this.#socket.failure === undefined)
      this.#send({ farewell: reason });
    this.#socket.close();
  }

  #send(message: Message): void {
    const text = Buffer.from(JSON.stringify(message));
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(text.length);
    this.#socket.send(Buffer.concat([length, text]));
  }

  async #receive(): Promise<unknown> {
    const length = (await this.#socket.receive(LENGTH_BYTES)).readUInt32LE();
    if (length > MOST_BYTES) throw new PeerGone(STRANGER);
    const text = (await this.#socket.receive(length)).toString();
    const message = parse(text);
    if ('farewell' in message) throw new PeerGone(`the other side has ended: ${message.farewell}`);
    return message.note;
  }
}

const STRANGER = 'what has connected is not libfabric check';

function parse(text: string): Message {
  try {
    return JSON.parse(text);
  } catch {
    throw new PeerGone(STRANGER);
  }
}
