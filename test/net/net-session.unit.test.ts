// Sessions of native/net, whose packets a test carries: they arrive late, in any order, twice, or not at first.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Handle, type NativeAgreement, native } from '../../dist/contract/native.js';
import { NetEvent } from '../../dist/contract/native-net.js';

type Session = Handle<'Session'>;

const HEADER = 40;
const UNREAD = 32; // EPIPE: the error number of a reset whose bytes the peer did not read
const TERMS = {
  packetSize: 2048,
  allowance: 16,
  peerAllowance: 16,
  window: 65_536,
  peerWindow: 65_536,
  maxWindow: 1 << 20,
  maxStreams: 100,
  reads: false,
};

function pairOf(terms: Partial<NativeAgreement> = {}): [Session, Session] {
  const secret = randomBytes(16);
  const make = (first: boolean) =>
    native.netSession({ ...TERMS, ...terms, secret, first, session: +first, peerSession: +!first });
  return [make(true), make(false)];
}

/** The packets that a session sends now, each with its length before it. */
function packetsOf(session: Session): Buffer[] {
  const packets: Buffer[] = [];
  for (;;) {
    const packet = native.netPackets(session, 1);
    if (packet === undefined) return packets;
    packets.push(packet);
  }
}

function eventsOf(session: Session): [kind: number, stream: number, value: number][] {
  const flat = [...(native.netEvents(session) ?? [])];
  return Array.from(
    { length: flat.length / 3 },
    (_, i) => flat.slice(3 * i, 3 * i + 3) as [number, number, number],
  );
}

/** Carries packets until none is sent any more. */
function settle(a: Session, b: Session): void {
  for (let moved = true; moved; ) {
    moved = false;
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      for (const packet of packetsOf(from)) {
        expect(native.netReceive(to, packet)).toBe(undefined);
        moved = true;
      }
    }
  }
}

function accepted(a: Session, b: Session): number {
  const stream = native.netOpen(a, 0);
  settle(a, b);
  native.netAnswer(b, stream, 0);
  settle(a, b);
  return stream;
}

describe('a stream', () => {
  test('is opened, accepted, carries bytes both ways, ends, and leaves nothing', () => {
    const [a, b] = pairOf();
    const stream = native.netOpen(a, 7);
    settle(a, b);
    expect(eventsOf(b)).toEqual([[NetEvent.Opened, stream, 7]]);
    native.netAnswer(b, stream, 0);
    settle(a, b);
    expect(eventsOf(a)).toEqual([[NetEvent.Accepted, stream, 0]]);
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      expect(native.netWrite(from, stream, Buffer.from('hello'), 0)).toBe(5);
      native.netEnd(from, stream);
      settle(a, b);
      expect(native.netTake(to, stream)?.toString()).toBe('hello');
      expect(native.netTake(to, stream)).toBe(null);
    }
    expect([native.netCounts(a).streams, native.netCounts(b).streams]).toEqual([0, 0]);
  });

  test('is refused with the error of the peer', () => {
    const [a, b] = pairOf();
    const stream = native.netOpen(a, 0);
    settle(a, b);
    native.netAnswer(b, stream, 111);
    settle(a, b);
    expect(eventsOf(a)).toEqual([[NetEvent.Refused, stream, 111]]);
    expect(native.netCounts(a).streams).toBe(0);
  });

  test('stops its writer when the peer does not read, and goes on when it does', () => {
    const [a, b] = pairOf();
    const stream = accepted(a, b);
    const bytes = randomBytes(1 << 20);
    let sent = native.netWrite(a, stream, bytes, 0);
    settle(a, b);
    sent += native.netWrite(a, stream, bytes, sent);
    settle(a, b);
    expect(native.netWrite(a, stream, bytes, sent)).toBe(0);
    expect(sent).toBe(TERMS.window + 256 * 1024); // the window and the backlog
    eventsOf(a);
    const read: Buffer[] = [];
    while (Buffer.concat(read).length < bytes.length) {
      const taken = native.netTake(b, stream);
      if (taken) read.push(Buffer.from(taken as ArrayBuffer));
      settle(a, b);
      sent += native.netWrite(a, stream, bytes, sent);
      settle(a, b);
    }
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
  });

  test('that nobody reads stops no other stream', () => {
    const [a, b] = pairOf();
    const [stuck, other] = [accepted(a, b), accepted(a, b)];
    native.netWrite(a, stuck, randomBytes(1 << 20), 0);
    settle(a, b);
    native.netWrite(a, other, Buffer.from('through'), 0);
    settle(a, b);
    expect(native.netTake(b, other)?.toString()).toBe('through');
  });

  test('that is destroyed with unread bytes is reset, and without them ends', () => {
    const [a, b] = pairOf();
    const [unread, read] = [accepted(a, b), accepted(a, b)];
    for (const stream of [unread, read]) native.netWrite(b, stream, Buffer.from('x'), 0);
    settle(a, b);
    native.netTake(a, read);
    for (const stream of [unread, read]) native.netDestroy(a, stream, false);
    eventsOf(b);
    settle(a, b);
    expect(eventsOf(b)).toEqual([[NetEvent.Reset, unread, UNREAD]]);
    expect(native.netTake(b, read)).toBe(null);
    native.netWrite(b, read, Buffer.from('late'), 0); // the peer does not read any more
    settle(a, b);
    expect(eventsOf(b)).toEqual([[NetEvent.Reset, read, UNREAD]]);
    for (const stream of [unread, read]) native.netDestroy(b, stream, false);
    expect([native.netCounts(a).streams, native.netCounts(b).streams]).toEqual([0, 0]);
  });

  test.each([
    ['with unread bytes', false, 'x'],
    ['in the middle of a message', true, ''],
    ['after its end, with unread bytes', false, 'ended'],
    ['before late bytes arrive', false, 'late'],
  ])('that is destroyed %s sends what it has accepted, then resets', (_name, isCut, how) => {
    const [a, b] = pairOf();
    const stream = accepted(a, b);
    if (how && how !== 'late') native.netWrite(b, stream, Buffer.from('unread'), 0);
    settle(a, b);
    const bytes = randomBytes(TERMS.window + 100_000); // more than the peer has room for
    expect(native.netWrite(a, stream, bytes, 0)).toBe(Math.min(bytes.length, 256 * 1024));
    if (how === 'ended') native.netEnd(a, stream);
    native.netDestroy(a, stream, isCut);
    if (how === 'late') native.netWrite(b, stream, Buffer.from('late'), 0);
    expect(native.netIsDelivered(a)).toBe(false);
    const read: Buffer[] = [];
    for (;;) {
      settle(a, b);
      const taken = native.netTake(b, stream);
      if (taken === undefined || taken === null) break;
      read.push(Buffer.from(taken as ArrayBuffer));
    }
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
    expect(eventsOf(b)).toContainEqual([NetEvent.Reset, stream, UNREAD]);
    expect(native.netHasPeerEnded(b, stream)).toBe(how === 'ended' || how === 'late');
    expect([native.netIsDelivered(a), native.netCounts(a).streams]).toEqual([true, 0]);
    native.netDestroy(b, stream, false);
    expect(native.netCounts(b).streams).toBe(0);
  });

  test('that is reset sends only what the peer has room for before', () => {
    const [a, b] = pairOf();
    const stream = accepted(a, b);
    eventsOf(b);
    native.netWrite(a, stream, randomBytes(TERMS.window + 100_000), 0);
    native.netReset(a, stream, 7);
    settle(a, b);
    expect(eventsOf(b)).toEqual([[NetEvent.Reset, stream, 7]]);
    const [counts] = native.netStreams(b, stream);
    expect(counts?.unread).toBe(TERMS.window);
  });
});

test('a peer that is asked answers at once, and learns that the session is closed', () => {
  const [a, b] = pairOf();
  native.netAsk(a);
  settle(a, b);
  expect([eventsOf(a), eventsOf(b)]).toEqual([[[NetEvent.Answered, 0, 0]], []]);
  native.netGoodbye(a);
  expect(native.netIsDelivered(a)).toBe(false);
  settle(a, b);
  expect([eventsOf(a), eventsOf(b)]).toEqual([
    [[NetEvent.Delivered, 0, 0]],
    [[NetEvent.Left, 0, 0]],
  ]);
});

test('packets of no bytes change nothing', () => {
  const [a, b] = pairOf();
  const stream = accepted(a, b);
  native.netWrite(a, stream, Buffer.from('hello'), 0);
  const packets = packetsOf(a).flatMap((packet) => [Buffer.alloc(4), packet, Buffer.alloc(8)]);
  for (const byte of Buffer.concat(packets)) native.netReceive(b, Buffer.of(byte));
  expect(native.netTake(b, stream)?.toString()).toBe('hello');
});

test('streams beyond the limit are refused at both sides', () => {
  const [a, b] = pairOf({ maxStreams: 2 });
  expect([native.netOpen(a, 0), native.netOpen(a, 0), native.netOpen(a, 0)]).toEqual([1, 3, 0]);
  native.netOpen(b, 0);
  native.netOpen(b, 0);
  for (const packet of packetsOf(b)) native.netReceive(a, packet);
  for (const packet of packetsOf(a)) native.netReceive(b, packet);
  const refused = eventsOf(b).filter(([kind]) => kind === NetEvent.Refused);
  expect(refused.map(([, stream]) => stream)).toEqual([2, 4]);
});

test('packets that arrive in any order, late, twice or at the second attempt give the same bytes', () => {
  const action = fc.record({
    kind: fc.constantFrom('write', 'carry', 'shuffle', 'repeat', 'again', 'read', 'end'),
    side: fc.nat(1),
    stream: fc.nat(2),
    length: fc.integer({ min: 1, max: 20_000 }),
    seed: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const sides = pairOf();
      const [a, b] = sides;
      const streams = [accepted(a, b), accepted(a, b), accepted(a, b)];
      const written = sides.map(() => streams.map(() => [] as Buffer[]));
      const taken = sides.map(() => streams.map(() => [] as Buffer[]));
      const ended = sides.map(() => streams.map(() => false));
      const onTheWay: Buffer[][] = [[], []]; // to each side
      const carry = (to: 0 | 1, at: number) => {
        const [packet] = (onTheWay[to] as Buffer[]).splice(at, 1);
        if (packet) expect(native.netReceive(sides[to], packet)).toBe(undefined);
      };
      const read = (side: 0 | 1, i: number) => {
        const bytes = native.netTake(sides[side], streams[i] as number);
        if (bytes) taken[side]?.[i]?.push(Buffer.from(bytes as ArrayBuffer));
        return bytes;
      };
      for (const { kind, side, stream: i, length, seed } of actions) {
        const [own, other] = side === 0 ? ([0, 1] as const) : ([1, 0] as const);
        const session = sides[own];
        const queue = onTheWay[other] as Buffer[];
        if (kind === 'write' && !ended[own]?.[i]) {
          const bytes = Buffer.alloc(length, seed);
          bytes.writeUInt8(seed % 251, 0);
          const accepted = native.netWrite(session, streams[i] as number, bytes, 0);
          written[own]?.[i]?.push(bytes.subarray(0, accepted));
        } else if (kind === 'end') {
          native.netEnd(session, streams[i] as number);
          (ended[own] as boolean[])[i] = true;
        } else if (kind === 'read') read(own, i);
        else if (kind === 'again') native.netAgain(session);
        else if (kind === 'repeat' && queue.length > 0)
          queue.push(queue[seed % queue.length] as Buffer);
        else if (kind === 'shuffle' && queue.length > 0) carry(other, seed % queue.length);
        else if (kind === 'carry' && queue.length > 0) carry(other, 0);
        queue.push(...packetsOf(session));
      }
      for (const side of [0, 1] as const) {
        for (const i of streams.keys()) native.netEnd(sides[side], streams[i] as number);
      }
      for (let idle = 0; idle < 3; ) {
        idle += 1;
        for (const [own, other] of [
          [0, 1],
          [1, 0],
        ] as const) {
          onTheWay[other]?.push(...packetsOf(sides[own]));
          while ((onTheWay[other] as Buffer[]).length > 0) {
            carry(other, 0);
            idle = 0;
          }
          for (const i of streams.keys()) while (read(other, i)) idle = 0;
        }
      }
      for (const side of [0, 1] as const) {
        for (const i of streams.keys()) {
          const [sent, got] = [written[side]?.[i], taken[1 - side]?.[i]].map((each) =>
            Buffer.concat(each ?? []),
          );
          expect(got?.equals(sent as Buffer)).toBe(true);
          expect(native.netTake(sides[side], streams[i] as number)).toBe(null);
        }
        expect(native.netCounts(sides[side]).streams).toBe(0);
      }
    }),
    { numRuns: 300 },
  );
});

describe('a peer that breaks the protocol loses its session', () => {
  /** The packet of a session that has sent something, after a change. */
  function changed(change: (packet: Buffer) => void): string | undefined {
    const [a, b] = pairOf();
    const stream = accepted(a, b);
    native.netWrite(a, stream, Buffer.from('hello'), 0);
    const [packet] = packetsOf(a) as [Buffer];
    change(packet);
    return native.netReceive(b, packet);
  }
  const frame = 4 + HEADER;

  test.each<[string, (packet: Buffer) => void]>([
    ['not of this session', (packet) => packet.writeUInt8(packet.readUInt8(4) ^ 1, 4)],
    ['not of this session', (packet) => packet.writeUInt32LE(9, 4 + 36)],
    ['acknowledges one that was not sent', (packet) => packet.writeBigUInt64LE(99n, 4 + 24)],
    ['exceeds what this side has room for', (packet) => packet.writeBigUInt64LE(99n, 4 + 16)],
    ['longer than agreed', (packet) => packet.writeUInt32LE(2049, 0)],
    ['not of this session', (packet) => packet.writeUInt32LE(39, 0)],
    ['does not exist', (packet) => packet.writeUInt32LE(99, frame)],
    ['unknown kind', (packet) => packet.writeUInt32LE(15 << 24, frame + 4)],
    ['longer than its packet', (packet) => packet.writeUInt8(6, frame + 4)],
    ['has bytes', (packet) => packet.writeUInt8(5, frame + 7)],
    ['were not read', (packet) => packet.writeUInt8(9, frame + 7)],
    ['wrong offset', (packet) => packet.writeBigUInt64LE(1n, frame + 8)],
  ])('%s', (why, change) => {
    expect(changed(change)).toContain(why);
  });

  test('any change of any byte is refused or harmless', () => {
    fc.assert(
      fc.property(fc.nat(200), fc.integer({ min: 1, max: 255 }), (at, bits) => {
        changed((packet) => {
          const index = at % packet.length;
          packet.writeUInt8(packet.readUInt8(index) ^ bits, index);
        });
      }),
    );
  });
});
