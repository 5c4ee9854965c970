// Many short messages at once: tagged ones of endpoints, and those of engines. Each carries the number of its operation
// and its own number.
import { check, within } from './settling.mjs';

function numbered(bytes, ...numbers) {
  const message = new Uint8Array(bytes);
  const view = new DataView(message.buffer);
  for (const [i, number] of numbers.entries()) view.setUint32(i * 4, number);
  return message;
}

const numberAt = ({ buffer, byteOffset }, i) => new DataView(buffer, byteOffset).getUint32(i * 4);

/** Waits until all have settled, so that no memory is in use any more, and throws the first error. */
async function all(promises) {
  const ends = await Promise.allSettled(promises);
  for (const { reason } of ends) if (reason !== undefined) throw reason;
}

const upTo = (count) => Array.from({ length: count }, (_, i) => i);

/** The messages arrive in order, each once. */
export async function receiveBurst({ own, wait, id, bytes, count }) {
  const buffers = upTo(count).map(() => new Uint8Array(bytes));
  await all(buffers.map((buffer) => own.endpoint.trecv(buffer, null, id, 0, wait)));
  for (const [i, buffer] of buffers.entries()) {
    const found = numberAt(buffer, 0);
    check(found === i, `message ${found} of burst ${id} arrives as number ${i}`);
  }
  return { bytes: bytes * count };
}

export async function sendBurst({ own, wait, id, bytes, count, peer }) {
  await all(upTo(count).map((i) => own.endpoint.tsend(numbered(bytes, i), peer.address, id, wait)));
  return {};
}

export async function sendNotes({ id, bytes, count, timeout, peer }) {
  const sent = all(upTo(count).map((i) => peer.engine.notify(numbered(bytes, id, i))));
  sent.catch(() => {}); // it may be late
  await within(timeout, sent, `not all messages of ${id} are sent`);
  return {};
}

/**
 * The messages of engines that have arrived. One reader reads all the time. Another one stops and starts again and
 * again.
 */
export class Notes {
  /** By the number of the operation: the arrived numbers, a number that has arrived twice, and the waiting call. */
  #operations = new Map();

  constructor(engine) {
    for (const most of [Number.POSITIVE_INFINITY, 7]) this.#read(engine, most).catch(() => {});
  }

  async #read(engine, most) {
    while (!engine.closed) {
      let left = most;
      for await (const { bytes } of engine.notifications()) {
        this.#take(this.#of(numberAt(bytes, 0)), numberAt(bytes, 1));
        left -= 1;
        if (left === 0) break;
      }
    }
  }

  #take(operation, number) {
    if (operation.arrived.has(number)) operation.twice = number;
    operation.arrived.add(number);
    operation.changed?.();
  }

  #of(id) {
    if (!this.#operations.has(id)) this.#operations.set(id, { arrived: new Set() });
    return this.#operations.get(id);
  }

  /** Resolves when all messages of an operation have arrived. */
  async receive({ id, bytes, count, timeout }) {
    const operation = this.#of(id);
    const complete = new Promise((resolve) => {
      operation.changed = () => operation.arrived.size >= count && resolve();
      operation.changed();
    });
    try {
      await within(timeout, complete, `not all messages of ${id} arrive`);
    } finally {
      check(operation.twice === undefined, `message ${operation.twice} of ${id} arrives twice`);
    }
    return { bytes: bytes * count };
  }
}
