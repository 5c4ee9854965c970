import type {
  MemoryPart,
  RemoteEngine,
  TransferEngine,
  TransferMemory,
} from '../transfer/index.js';
import { connectionError } from './errors.js';
import type { Received } from './message-reader.js';
import { Kind } from './message-writer.js';

type Memory = TransferMemory | MemoryPart;

/** Messages that the peer reads from memory, and that this side reads from the peer's. */
export class Handover {
  readonly #engine: TransferEngine | undefined;
  readonly #add: (kind: number, bytes: Uint8Array) => Promise<void>;
  readonly #met: Promise<RemoteEngine>;
  #peerIs!: (peer: Promise<RemoteEngine>) => void;
  #fail!: (error: Error) => void;

  /** @param add sends a record. */
  constructor(
    engine: TransferEngine | undefined,
    add: (kind: number, bytes: Uint8Array) => Promise<void>,
  ) {
    this.#engine = engine;
    this.#add = add;
    this.#met = new Promise((resolve, reject) => {
      this.#peerIs = resolve;
      this.#fail = reject;
    });
    this.#met.catch(() => {}); // reported by the calls that wait for it
    add(Kind.Engine, Buffer.from(engine?.address ?? '')).catch(() => {}); // the socket has ended
  }

  /** The peer has said where its engine is: an empty address if it has none. */
  met(address: Uint8Array): void {
    if (address.length === 0)
      this.#fail(connectionError('ERR_INVALID_STATE', 'the peer has no transfer engine'));
    else if (this.#engine) this.#peerIs(this.#engine.peer(Buffer.from(address).toString()));
  }

  fail(error: Error): void {
    this.#fail(error);
  }

  #required(): TransferEngine {
    if (this.#engine) return this.#engine;
    throw connectionError(
      'ERR_INVALID_STATE',
      'the socket has no transfer engine: see the option engine',
    );
  }

  async send(memory: Memory, signal: AbortSignal | undefined): Promise<void> {
    this.#required();
    signal?.throwIfAborted();
    const offer = await memory.offer({ access: 'read', to: await this.#met });
    const abort = () => void offer.close();
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await this.#add(Kind.Offer, Buffer.from(JSON.stringify([memory.length, offer.token])));
      await offer.arrived;
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
      offer.close().catch(() => {}); // a late copy is no error of the message
    }
  }

  /** Brings a message into memory. Returns the number of its bytes. */
  async receive(received: Received, memory: Memory, signal?: AbortSignal): Promise<number> {
    this.#required();
    if (received.kind === Kind.Message) {
      const { bytes } = received;
      if (bytes.length > memory.length) throw tooLong(bytes.length, memory.length);
      const target = memory.bytes;
      if (target === undefined) throw connectionError('EINVAL', 'the memory has no bytes', 'read');
      target.set(bytes);
      return bytes.length;
    }
    const [length, token] = offerOf(received);
    if (length > memory.length) throw tooLong(length, memory.length);
    const remote = await this.#met;
    await remote.read(token, memory.slice(0, length), { ...(signal && { signal }) });
    return length;
  }

  /** The bytes of a message that is in the peer's memory. */
  async receiveCopy(received: Received, signal?: AbortSignal): Promise<Uint8Array> {
    const [length] = offerOf(received);
    const memory = await this.#required().allocate(length);
    try {
      await this.receive(received, memory, signal);
      return Uint8Array.from(memory.bytes as Uint8Array);
    } finally {
      await memory.close();
    }
  }
}

function offerOf({ bytes }: Received): [length: number, token: string] {
  const [length, token] = JSON.parse(Buffer.from(bytes).toString());
  if (Number.isSafeInteger(length) && length > 0 && typeof token === 'string')
    return [length, token];
  throw connectionError('EPROTO', 'the peer offers no memory', 'read');
}

const tooLong = (length: number, room: number) =>
  connectionError('EMSGSIZE', `a message has ${length} bytes, the memory ${room}`, 'read');
