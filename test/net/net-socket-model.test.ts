// Sockets of one session whose two sides write, pause, end, destroy and reset in random order, compared with a model of
// what each side must see. Over node:net too, which shows that the model is right.
import { once } from 'node:events';
import { type Server, Socket as TcpSocket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Handle, loadOnce, native } from '../../dist/contract/native.js';
import { pattern } from '../support/bytes.js';
import { type Library, libraries, type Socket, turn } from '../support/net-libraries.js';
import { howOften } from '../support/properties.js';
import { settle } from '../support/settle.js';
import { testFaults } from '../support/softefa.js';

const faults = testFaults();
const SOCKETS = 3; // at the beginning

const command = fc.oneof(
  {
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      side: fc.nat({ max: 1 }),
      at: fc.nat({ max: 5 }),
      length: fc.oneof(fc.nat({ max: 100 }), fc.nat({ max: 20_000 }), fc.nat({ max: 400_000 })),
    }),
    weight: 6,
  },
  {
    arbitrary: fc.record({
      kind: fc.constantFrom('pause', 'resume', 'cork', 'end'),
      side: fc.nat({ max: 1 }),
      at: fc.nat({ max: 5 }),
    }),
    weight: 5,
  },
  {
    arbitrary: fc.record({
      kind: fc.constantFrom('destroy', 'reset', 'open'),
      side: fc.nat({ max: 1 }),
      at: fc.nat({ max: 5 }),
    }),
    weight: 2,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      side: fc.constant(0),
      at: fc.nat({ max: 5 }),
    }),
    weight: 4,
  },
);

type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

/** One side of a socket: what the test has done, and what the socket has said. */
class Side {
  readonly socket: Socket;
  readonly isTcp: boolean;
  readonly written: Uint8Array[] = [];
  readonly read: Uint8Array[] = [];
  readonly events: string[] = [];
  readonly closed: Promise<unknown>;
  /** How the test has destroyed it. */
  destroyed: 'destroy' | 'reset' | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    this.isTcp = socket instanceof TcpSocket;
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('data', (bytes) => {
      expect(this.events).toEqual([]);
      expect(this.destroyed).toBe(undefined);
      this.read.push(bytes);
    });
    socket.on('end', () => this.events.push('end'));
    socket.on('error', (error) => this.events.push((error as NodeJS.ErrnoException).code ?? ''));
    socket.on('close', (hadError) => this.events.push(`close ${hadError}`));
  }

  run(kind: Command['kind'], bytes: Uint8Array): void {
    const { socket } = this;
    if (socket.destroyed) return;
    if (kind === 'pause') socket.pause();
    else if (kind === 'resume') socket.resume();
    else if (kind === 'end') socket.end();
    else if (kind === 'cork') {
      socket.cork();
      process.nextTick(() => socket.uncork());
    } else if (kind === 'write' && !socket.writableEnded) {
      this.written.push(bytes);
      socket.write(bytes);
    } else if (kind === 'destroy' || kind === 'reset') {
      // A socket of node:net that ends cannot be reset: EINVAL.
      const isReset = kind === 'reset' && !(this.isTcp && socket.writableEnded);
      this.destroyed = isReset ? 'reset' : 'destroy';
      if (isReset) socket.resetAndDestroy();
      else socket.destroy();
    }
  }

  check(peer: Side): void {
    const [sent, got] = [Buffer.concat(peer.written), Buffer.concat(this.read)];
    const isWhole = got.length === sent.length;
    expect(got.equals(sent.subarray(0, got.length)), 'bytes are exact and in order').toBe(true);
    const events = this.events.join(', ');
    if (this.destroyed) expect(events).toMatch(/^(end, )?close false$/);
    else if (!peer.destroyed) expect([events, isWhole]).toEqual(['end, close false', true]);
    else if (events !== 'end, close false') {
      expect(events).toMatch(/^(end, )?(ECONNRESET|EPIPE), close true$/);
    } else if (peer.destroyed === 'reset' && !this.isTcp) {
      // The reset came after the whole stream. Linux may lose one over TCP.
      expect([isWhole, this.socket.writableFinished]).toEqual([true, true]);
    }
  }
}

async function program(library: Library, server: Server, port: number, commands: Command[]) {
  const sockets: [Side, Side][] = [];
  const open = async () => {
    const [client, peer] = await library.join(server, port, { allowHalfOpen: true });
    sockets.push([new Side(client), new Side(peer)]);
  };
  for (let i = 0; i < SOCKETS; i++) await open();
  for (const each of commands) {
    const sides = sockets[each.at % sockets.length] as [Side, Side];
    if (each.kind === 'open') await open();
    else if (each.kind === 'turn') for (let i = 0; i <= each.at; i++) await turn();
    else {
      const side = sides[each.side as 0 | 1];
      const length = 'length' in each ? each.length : 0;
      side.run(each.kind, pattern(length, sockets.indexOf(sides) + 100 * side.written.length));
    }
  }
  for (const { socket } of sockets.flat()) {
    socket.resume();
    if (!socket.destroyed) socket.end();
  }
  await settle(Promise.all(sockets.flat().map(({ closed }) => closed)));
  for (const [client, peer] of sockets) {
    client.check(peer);
    peer.check(client);
  }
}

const cases = [
  ['libfabric/net over shm', 300, {}],
  ['libfabric/net over shm, loop driver', 300, {}],
  ['libfabric/net over efa', 100, { drop: 20, reorder: 0.3, delay: 0.02 }],
  ['libfabric/net without a fabric', 200, {}],
  ['node:net', 200, {}],
] as const;

describe.each(cases)('%s', (name, runs, conditions) => {
  test('what both sides see is what the model says, and nothing is left', async () => {
    const library = new Map(libraries).get(name) as Library;
    const made = vi.spyOn(loadOnce(), 'netSession');
    onTestFinished(() => made.mockRestore());
    const { server, port } = await library.serve({ allowHalfOpen: true });
    faults.set(conditions);
    const property = fc.asyncProperty(fc.array(command, { maxLength: 40 }), (commands) =>
      program(library, server, port, commands),
    );
    const details = await fc.check(property, howOften<[Command[]]>(runs));
    if (details.failed)
      throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance });
    expect(made.mock.results).toHaveLength(name === 'node:net' ? 0 : 2);
    for (const { value } of made.mock.results) {
      while (native.netCounts(value as Handle<'Session'>).streams > 0) await turn();
    }
    const closed = once(server, 'close');
    server.close();
    await closed;
  });
});
