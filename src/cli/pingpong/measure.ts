import type { MemoryRegion } from '../../memory/memory-region.js';
import { allAlike, measure, type Timing } from '../fabtests/common/measure.js';
import { allocateFor } from '../fabtests/common/memory.js';
import { DataCheckError, pattern } from '../fabtests/common/pattern.js';
import type { Session, TestBatch } from '../fabtests/common/session.js';

const TAG = 1234;
const LETTERS = 62;
const SEED = 7;

/** The messages of fi_pingpong(1). All have the same tag, or none. */
export class Messages {
  readonly #session: Session;
  readonly #region: MemoryRegion;
  readonly #room: number;
  // Messages so far, over all sizes. Each starts at another position of the pattern.
  #filled = 0;
  #checked = 0;

  private constructor(session: Session, region: MemoryRegion, room: number) {
    this.#session = session;
    this.#region = region;
    this.#room = room;
  }

  static async allocate(session: Session, room: number): Promise<Messages> {
    const bytes = Math.max(room, 64);
    const region = await allocateFor(session.domain, bytes * 2, ['FI_SEND', 'FI_RECV']);
    return new Messages(session, region, bytes);
  }

  /** Measures one size, on both sides at once. Calls `ready` when the first receive is posted. */
  async measure(
    size: number,
    iterations: number,
    statistics: boolean,
    ready: () => Promise<void>,
  ): Promise<Timing> {
    const { role, settings, waiter, domain } = this.#session;
    using receive = this.#batch((batch) => this.#addReceive(batch));
    using send = this.#batch((batch) => this.#addSend(batch, size));
    using exchange = this.#batch((batch) => {
      this.#addReceive(batch);
      this.#addSend(batch, size);
    });
    const { verify } = settings;
    const fill = () => {
      if (verify) this.#fill(size);
    };
    const posted = receive.submit();
    posted.catch(() => {});
    domain.progress();
    await ready();
    return await measure(
      waiter,
      {
        steps: iterations,
        clockAt: 0,
        first: async () => {
          if (role === 'client') {
            fill();
            await waiter.complete(send);
          }
          await this.#session.until(posted);
        },
        rounds: allAlike((options) => {
          fill();
          return waiter.rounds(exchange, options);
        }),
        verify: verify ? () => this.#verify(size) : undefined,
        last: async () => {
          if (role === 'client') return;
          fill();
          await waiter.complete(send);
        },
      },
      statistics,
    );
  }

  /** Exchanges the final message of both sides: "fin". */
  async finish(): Promise<void> {
    const word = Buffer.from('fin\0');
    this.#region.bytes.set(word, this.#room);
    using exchange = this.#batch((batch) => {
      this.#addReceive(batch);
      this.#addSend(batch, word.length, false);
    });
    await this.#session.waiter.complete(exchange);
  }

  #batch(fill: (batch: TestBatch) => void): TestBatch & Disposable {
    return this.#session.batch(fill);
  }

  #addReceive(batch: TestBatch): void {
    const into = this.#region.slice(0, this.#room);
    if (this.#session.tagged) batch.trecv(into, null, TAG);
    else batch.recv(into);
  }

  #addSend(batch: TestBatch, size: number, mayInject = !this.#session.settings.verify): void {
    const { info, peer, tagged } = this.#session;
    const from = this.#region.slice(this.#room, this.#room + size);
    const inject = mayInject && size < info.txAttr.injectSize;
    if (tagged) inject ? batch.tinject(from.bytes, peer, TAG) : batch.tsend(from, peer, TAG);
    else if (inject) batch.inject(from.bytes, peer);
    else batch.send(from, peer);
  }

  #expected(size: number, message: number): Uint8Array {
    const start = (message * SEED) % LETTERS;
    return pattern(start + size).subarray(start);
  }

  #fill(size: number): void {
    this.#region.bytes.set(this.#expected(size, this.#filled++), this.#room);
  }

  #verify(size: number): void {
    const expected = this.#expected(size, this.#checked++);
    const bytes = this.#region.bytes.subarray(0, size);
    if (Buffer.compare(bytes, expected) !== 0) {
      const at = bytes.findIndex((byte, i) => byte !== expected[i]);
      throw new DataCheckError(`Error at iteration=${this.#checked} size=${size} byte=${at}`);
    }
    bytes.fill(0);
  }
}
