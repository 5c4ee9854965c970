// The client's half of the fabric: memory that is offered to the server for one request, with the headers that say so.
// Nothing else of the client knows of engines.
import { setTimeout as sleep } from 'node:timers/promises';
import type { MemoryPart, MemoryPool, RemoteEngine, TransferEngine } from '../transfer/index.js';
import type { Answer } from './exchange.js';
import { ADDRESS, TOKENS } from './fabric-server.js';

const EXPIRES = 600_000; // ms: the last piece is offered before the first one moves
const END_TIMEOUT = 1000; // ms

/** A server whose engine this one reaches. */
export class ClientFabric {
  readonly #engine: TransferEngine;
  readonly #server: RemoteEngine;
  readonly #piece: number;
  /** Memory for bytes that the program wants elsewhere. */
  readonly pool: MemoryPool;

  /** @param piece the most bytes that a token of this server may open. */
  constructor(engine: TransferEngine, server: RemoteEngine, piece: number, pool: MemoryPool) {
    this.#engine = engine;
    this.#server = server;
    this.#piece = piece;
    this.pool = pool;
  }

  /**
   * Offers memory for a request, which gets the headers.
   *
   * @param access of the server: 'write' for a GET, 'read' for a PUT.
   * @returns the answer, when no copy can be in flight any more.
   */
  async offering(
    part: MemoryPart,
    access: 'read' | 'write',
    request: (fields: Record<string, string>) => Promise<Answer>,
  ): Promise<Answer> {
    const starts = Array.from(
      { length: Math.ceil(part.length / this.#piece) },
      (_, i) => i * this.#piece,
    );
    const offers = await Promise.all(
      starts.map((start) => {
        const piece = part.slice(start, Math.min(start + this.#piece, part.length));
        return piece.offer({ access, to: this.#server, expires: EXPIRES });
      }),
    );
    let isAnswered = false;
    try {
      const answer = await request({
        [ADDRESS]: this.#engine.address,
        [TOKENS]: offers.map(({ token }) => token).join(','),
      });
      isAnswered = true;
      const hasMoved = access === 'write' && answer.status < 300;
      if (hasMoved) await Promise.all(offers.map(({ arrived }) => arrived));
      return answer;
    } finally {
      // After an abort the server ends its transfers, and with them the offers. Then no copy is in flight when the keys end.
      const ended = Promise.all(offers.map(({ released }) => released));
      if (!isAnswered) await Promise.race([ended, sleep(END_TIMEOUT, undefined, { ref: false })]);
      await Promise.all(offers.map((offer) => offer.close()));
    }
  }
}
