// The decoders of the command line: messages over TCP, results, and the output of fabtests.
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  CONTROL_BYTES,
  encodeAddress,
  peerInfoIn,
} from '../../dist/cli/fabtests/common/peer-info.js';
import { isHello, mismatchOf } from '../../dist/cli/fabtests/multinode/protocol.js';
import { parseFabtests } from '../../dist/cli/report/fabtests-output.js';
import { reportPage } from '../../dist/cli/report/page.js';
import { parseResult } from '../../dist/cli/report/schema.js';
import { FrameError, frameOf, JsonLink } from '../../dist/cli/shared/json-link.js';
import { Disagreement, fromClient, fromServer, read } from '../../dist/cli/transfer/messages.js';
import { holds } from '../support/properties.js';
import { benchmark, fullRow, matrix, transferRow } from '../support/results.js';

const MAX_BYTES = 1000;

/** The part of a socket that a link uses. */
class FakeSocket extends EventEmitter {
  failure: Error | undefined;
  writable = false;
  setNoDelay() {}
  resume() {}
  destroy(error?: Error) {
    this.failure ??= error;
    this.emit('close');
  }
}

/** The messages that a link receives from bytes in parts, and the reason why it ends. */
function received(bytes: Uint8Array, cuts: readonly number[]) {
  const socket = new FakeSocket();
  const messages: object[] = [];
  new JsonLink<object, object>(socket as unknown as Socket, {
    maxBytes: () => MAX_BYTES,
    onMessage: (message) => messages.push(message) > 0,
  });
  let from = 0;
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  for (const end of [...ends, bytes.length]) {
    if (socket.failure !== undefined) break;
    socket.emit('data', Buffer.from(bytes.subarray(from, end)));
    from = end;
  }
  return { messages, failure: socket.failure };
}

const cuts = fc.array(fc.nat(), { maxLength: 10 });
const objects = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true });

test('a link receives the messages that were sent, however they are cut', () => {
  const short = objects.filter((message) => frameOf(message).length <= MAX_BYTES);
  holds(
    fc.property(fc.array(short, { maxLength: 5 }), cuts, (messages, where) => {
      const { messages: got, failure } = received(Buffer.concat(messages.map(frameOf)), where);
      expect(failure).toBeUndefined();
      expect(got).toEqual(messages.map((each) => JSON.parse(JSON.stringify(each))));
    }),
  );
});

test('a link ends at the first bytes that are no message, with a FrameError', () => {
  const frames = fc.oneof(
    fc.uint8Array({ maxLength: 100 }),
    fc.json().map((text) => {
      const bytes = Buffer.from(text);
      const head = Buffer.alloc(4);
      head.writeUInt32BE(bytes.length);
      return Buffer.concat([head, bytes]);
    }),
  );
  holds(
    fc.property(fc.array(frames, { maxLength: 4 }), cuts, (parts, where) => {
      const { messages, failure } = received(Buffer.concat(parts), where);
      if (failure !== undefined) expect(failure).toBeInstanceOf(FrameError);
      for (const message of messages) expect(message).toBeTypeOf('object');
    }),
  );
});

const anything = fc.oneof(fc.jsonValue(), fc.anything());

test('a note of a peer is read, or refused with a Disagreement', () => {
  const kinds = fc.constantFrom(
    ...['hello', 'offer', 'begin', 'row', 'end', 'token', 'cpu', 'arrived'],
  );
  const notes = fc.oneof(
    anything,
    fc.record({ kind: kinds, size: anything, seed: anything, plan: anything, row: anything }),
  );
  holds(
    fc.property(notes, (note) => {
      for (const schema of [fromClient, fromServer]) {
        try {
          expect(read<unknown>(schema, note)).toHaveProperty('kind');
        } catch (error) {
          expect(error).toBeInstanceOf(Disagreement);
        }
      }
    }),
  );
});

test('the control message of a benchmark says what a side has put into it, or has nothing of this package', () => {
  const addresses = fc.uint8Array({ maxLength: 200 });
  const sides = fc.record({
    release: fc.constantFrom('1.17', '2.6'),
    port: fc.nat({ max: 65_535 }),
    messageBytes: fc.integer({ min: CONTROL_BYTES, max: 1024 }),
    token: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  });
  const edits = fc.array(fc.tuple(fc.nat({ max: 1023 }), fc.nat({ max: 255 })), { maxLength: 3 });
  holds(
    fc.property(
      addresses,
      sides,
      edits,
      fc.nat({ max: 1024 }),
      (address, side, changes, length) => {
        const message = encodeAddress(address, side);
        expect(peerInfoIn(message)).toEqual(side);
        for (const [at, value] of changes) if (at < message.length) message[at] = value;
        const info = peerInfoIn(message.subarray(0, length));
        if (info === undefined) return;
        expect(info.release).toMatch(/^\d+\.\d+$/);
        expect(info.port).toBeLessThan(2 ** 16);
        expect(info.messageBytes).toBeLessThan(2 ** 16);
      },
    ),
  );
});

test('the first message of a rank is compared without an error of another kind', () => {
  const hellos = fc.record({
    type: fc.constant('hello'),
    libfabric: fc.constant('ranks'),
    protocol: fc.oneof(fc.constant(1), anything),
    rank: fc.oneof(fc.nat({ max: 4 }), fc.double()),
    ranks: fc.oneof(fc.constant(4), anything),
    host: fc.string(),
    pid: fc.oneof(fc.nat(), anything),
    plan: fc.oneof(fc.object(), fc.dictionary(fc.string(), anything)),
  });
  holds(
    fc.property(fc.oneof(hellos, fc.object()), (message) => {
      const text = JSON.stringify(message);
      const parsed: unknown = JSON.parse(text);
      if (!isHello(parsed)) return;
      const reason = mismatchOf(parsed, 4, { size: 8 });
      expect([undefined, 'string']).toContain(reason === undefined ? undefined : typeof reason);
    }),
  );
});

/** A copy in which the value at the end of a path is replaced. A step is the index of a member. */
function replaced(from: unknown, [step, ...rest]: readonly number[], value: unknown): unknown {
  if (step === undefined || typeof from !== 'object' || from === null) return value;
  const copy = structuredClone(from) as Record<string, unknown>;
  const names = Object.keys(copy);
  const name = names[step % names.length];
  if (name === undefined) return value;
  copy[name] = replaced(copy[name], rest, value);
  return copy;
}

test('a result is read, or refused with an Error that says why', () => {
  const valid = fc.constantFrom(
    benchmark({ rows: [fullRow(64, 2), transferRow(4096)] }),
    matrix([
      [null, 1],
      [2, null],
    ]),
  );
  const path = fc.array(fc.nat(), { minLength: 1, maxLength: 5 });
  holds(
    fc.property(valid, path, fc.jsonValue(), (result, steps, value) => {
      const changed = replaced(result, steps, value);
      try {
        expect(parseResult(changed)).toHaveProperty('kind');
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        expect(error).not.toBeInstanceOf(TypeError);
      }
    }),
  );
});

test('the output of fabtests is read, or refused with the line', () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom(
      '---',
      'fi_rdm_pingpong -p efa:',
      'bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec',
      '64      1k      =1k      125k        0.01s      8.63       7.42       0.13',
      '- { xfer_size: 64, iterations: 10, total: 128, time: 0.1, MB/sec: 1.0, usec/xfer: 1.0, Mxfers/sec: 0.1}',
    ),
  );
  holds(
    fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
      try {
        for (const { rows } of parseFabtests(lines.join('\n'))) {
          for (const row of rows) expect(row.size).toBeGreaterThanOrEqual(0);
        }
      } catch (error) {
        expect((error as Error).message).toMatch(/^line \d+: \S+ is not a number$/);
      }
    }),
  );
});

test('the report of any result that is read is a page without scripts', () => {
  const valid = fc.constantFrom(
    benchmark({ rows: [fullRow(64, 2), transferRow(4096)] }),
    benchmark({ label: 'other', operation: 'read', rows: [fullRow(64, 3), fullRow(8192, 90)] }),
  );
  const number = fc.oneof(fc.double({ noNaN: true, min: 0 }), fc.nat(), fc.maxSafeNat());
  const value = fc.oneof(number, fc.constantFrom('<script>', '"><img src=x>', '&'), fc.string());
  const edits = fc.array(fc.tuple(fc.array(fc.nat(), { maxLength: 5 }), value), { maxLength: 3 });
  const changed = fc
    .tuple(valid, edits)
    .map(([result, all]) =>
      all.reduce((to: unknown, [path, by]) => replaced(to, path, by), result),
    );
  holds(
    fc.property(fc.array(changed, { minLength: 1, maxLength: 3 }), (results) => {
      const inputs = results.flatMap((result, i) => {
        try {
          return [{ kind: 'benchmark' as const, file: `${i}`, measured: parseResult(result) }];
        } catch {
          return [];
        }
      });
      const page = reportPage('a title', inputs as Parameters<typeof reportPage>[1], new Date(0));
      expect(page.match(/<(script|img)\b/i)).toBeNull();
    }),
    50,
  );
});
