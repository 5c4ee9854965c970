import { checkSignal, offAbort, onAbort } from '../base/abort-signals.js';
import { countAsHandled } from '../base/cancellation.js';
import { Deferred } from '../base/deferred.js';
import { within } from '../base/wait-options.js';
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
  readonly #peer = new Deferred<RemoteEngine>();

  /** @param add sends a record. */
  constructor(
    engine: TransferEngine | undefined,
    add: (kind: number, bytes: Uint8Array) => Promise<void>,
  ) {
    this.#engine = engine;
    this.#add = add;
    countAsHandled(this.#peer.promise); // the calls that wait for it report it
    add(Kind.Engine, Buffer.from(engine?.address ?? '')).catch(() => {}); // the socket has ended
  }

  /** The peer has said where its engine is: an empty address if it has none. */
  met(address: Uint8Array): void {
    if (address.length === 0)
      this.fail(connectionError('ERR_INVALID_STATE', 'the peer has no transfer engine'));
    else
      this.#engine
        ?.peer(Buffer.from(address).toString())
        .then(this.#peer.resolve, this.#peer.reject);
  }

  fail(error: Error): void {
    this.#peer.reject(error);
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
    checkSignal(signal);
    const to = await within(this.#peer.promise, { signal, timeout: undefined }, 'sendFrom');
    const offer = await memory.offer({ access: 'read', to });
    const close = () => countAsHandled(offer.close()); // a late copy is no error of the message
    if (signal) onAbort(signal, close);
    try {
      checkSignal(signal);
      await this.#add(Kind.Offer, Buffer.from(JSON.stringify([memory.length, offer.token])));
      await offer.arrived;
    } catch (error) {
      checkSignal(signal);
      throw error;
    } finally {
      if (signal) offAbort(signal, close);
      close();
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
    const remote = await this.#peer.promise;
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
