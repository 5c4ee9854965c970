import { open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import {
  expectRejected,
  expectWorking,
  junk,
  junkExcept,
  loopbackOfFile,
} from '../support/bad-input.js';

// biome-ignore lint/suspicious/noExplicitAny: the tests pass values that the types forbid
type Any = any;

const loopback = loopbackOfFile();

const CONVERTS = 'an object that throws when it is converted';
const OBJECTS = ['{}', 'a proxy', CONVERTS];
const NUMBERS = ['-0', '1.5'];

type Case = [
  call: string,
  run: (value: Any) => unknown,
  names: RegExp,
  values?: readonly (readonly [string, unknown])[],
];

const domain = (): Any => loopback.ep.domain;

const rejecting: Case[] = [
  ['open(options)', (v) => open(v), /options/, junkExcept(...OBJECTS, 'undefined')],
  [
    'options.provider',
    (v) => open({ provider: v }),
    /provName|FI_ENODATA/,
    junkExcept('undefined', 'null', 'an empty string'),
  ],
  ['options.type', (v) => open({ type: v }), /options\.type/, junkExcept('undefined')],
  ['options.caps', (v) => open({ caps: v }), /caps/, junkExcept('undefined', '[]')],
  [
    'options.driver',
    (v) => open({ provider: 'shm', driver: v }),
    /driver/,
    junkExcept('undefined', 'null'),
  ],
  ['domain.register(buffer)', (v) => domain().register(v, ['FI_SEND']), /buffer/],
  ['domain.register(access)', (v) => domain().register(new Uint8Array(8), v), /access/],
  ['domain.register([right])', (v) => domain().register(new Uint8Array(8), [v]), /access\[0\]/],
  ['domain.allocate(length)', (v) => domain().allocate(v, ['FI_SEND']), /length/],
  ['domain.allocate(access)', (v) => domain().allocate(64, v), /access/],
  [
    'domain.allocate(options)',
    (v) => domain().allocate(64, ['FI_SEND'], v),
    /options/,
    junkExcept(...OBJECTS, 'undefined'),
  ],
  [
    'options.hugePages',
    (v) => domain().allocate(64, ['FI_SEND'], { hugePages: v }),
    /hugePages/,
    junkExcept('undefined', 'null', 'true'),
  ],
  [
    'domain.close(options)',
    (v) => domain().close(v),
    /options/,
    junkExcept(...OBJECTS, 'undefined'),
  ],
  [
    'options.timeout of domain.close()',
    (v) => domain().close({ timeout: v }),
    /timeout/,
    junkExcept(...NUMBERS, 'undefined'),
  ],
  [
    'endpoint.close(options)',
    (v) => loopback.ep.close(v),
    /options/,
    junkExcept(...OBJECTS, 'undefined'),
  ],
  [
    'options.timeout of endpoint.close()',
    (v) => loopback.ep.close({ timeout: v }),
    /timeout/,
    junkExcept(...NUMBERS, 'undefined'),
  ],
  [
    'av.insertService(node)',
    (v) => loopback.ep.av.insertService(v, 1),
    /node/,
    junkExcept('an empty string', 'a string'),
  ],
  [
    'av.insertService(service)',
    (v) => loopback.ep.av.insertService('127.0.0.1', v),
    /service/,
    junkExcept('-0', 'an empty string', 'a string'),
  ],
  ['av.remove(peer)', (v) => loopback.ep.av.remove(v), /peer/],
  ['cq.arrived(value)', (v) => loopback.ep.receiveQueue.arrived(v), /value/, junkExcept('-0')],
  [
    'cq.arrived(count)',
    (v) => loopback.ep.receiveQueue.arrived(1n, v),
    /count/,
    junkExcept('undefined'),
  ],
  [
    'cq.arrived(options)',
    (v) => loopback.ep.receiveQueue.arrived(1n, 1, v),
    /options/,
    junkExcept(...OBJECTS, 'undefined'),
  ],
  [
    'options.signal of cq.arrived()',
    (v) => loopback.ep.receiveQueue.arrived(1n, 1, { signal: v }),
    /options\.signal/,
    junkExcept('undefined'),
  ],
];

describe('an invalid value rejects with an error that names the argument', () => {
  test.each(rejecting)('%s', async (_call, run, names, values = junk) => {
    for (const [label, value] of values) {
      await expectRejected(() => run(value), names).catch((error: Error) => {
        error.message = `${label}: ${error.message}`;
        throw error;
      });
    }
    await expectWorking(loopback.ep, loopback.self);
  });
});

test('refused calls do not keep the event loop alive', () => {
  expect(loopback.ep.limits.engine.requests.pending).toBe(0);
});
