// A server of NATS: what a client needs to publish, to subscribe and to ask. https://docs.nats.io has the protocol.
import type { Duplex } from 'node:stream';

interface Subscription {
  readonly connection: Duplex;
  readonly id: string;
  readonly subject: string;
}

const INFO = { server_id: 'test', version: '2.10.0', proto: 1, max_payload: 4 * 2 ** 20 };

export class NatsBroker {
  #subscriptions: Subscription[] = [];

  /** Serves a client. */
  handle(connection: Duplex): void {
    let unread = Buffer.alloc(0);
    connection.write(`INFO ${JSON.stringify(INFO)}\r\n`);
    connection.on('data', (bytes: Buffer) => {
      unread = Buffer.concat([unread, bytes]);
      for (let end = unread.indexOf('\r\n'); end >= 0; end = unread.indexOf('\r\n')) {
        const words = unread.toString('latin1', 0, end).split(' ');
        const size = words[0] === 'PUB' ? Number(words.at(-1)) + 2 : 0;
        const next = end + 2 + size;
        if (unread.length < next) return;
        this.#take(connection, words, unread.subarray(end + 2, next));
        unread = unread.subarray(next);
      }
    });
    connection.on('error', () => {});
    connection.on('close', () => this.#forget((each) => each.connection === connection));
  }

  #take(connection: Duplex, [command, subject = '', second = '']: string[], body: Buffer): void {
    if (command === 'PING') connection.write('PONG\r\n');
    if (command === 'SUB') this.#subscriptions.push({ connection, id: second, subject });
    // With a number of messages, the client itself stops after them.
    if (command === 'UNSUB' && second === '')
      this.#forget((each) => each.connection === connection && each.id === subject);
    if (command === 'PUB') this.#publish(subject, second, body);
  }

  /** The second word is where an answer is expected, or the size if nobody expects one. */
  #publish(subject: string, second: string, body: Buffer): void {
    const size = body.length - 2;
    const reply = second === String(size) ? '' : `${second} `;
    for (const each of this.#subscriptions.filter((each) => matches(each.subject, subject))) {
      each.connection.write(`MSG ${subject} ${each.id} ${reply}${size}\r\n`);
      each.connection.write(body);
    }
  }

  #forget(which: (each: Subscription) => boolean): void {
    this.#subscriptions = this.#subscriptions.filter((each) => !which(each));
  }
}

function matches(pattern: string, subject: string): boolean {
  if (pattern.endsWith('*')) return subject.startsWith(pattern.slice(0, -1));
  return pattern === subject;
}
