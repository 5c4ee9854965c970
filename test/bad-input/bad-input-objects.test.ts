import { Fabric, getInfo } from 'libfabric';
import { describe, expect, test } from 'vitest';
import {
  expectThrown,
  expectWorking,
  junk,
  junkExcept,
  loopbackOfFile,
} from '../support/bad-input.js';

// biome-ignore lint/suspicious/noExplicitAny: the tests pass values that the types forbid
type Any = any;

const loopback = loopbackOfFile();
const manual = loopbackOfFile({ driver: 'manual' });

const CONVERTS = 'an object that throws when it is converted';
const OBJECTS = ['{}', 'a proxy', CONVERTS];
const INTEGERS = ['-0'];

type Case = [
  call: string,
  run: (value: Any) => unknown,
  names: RegExp,
  values?: readonly (readonly [string, unknown])[],
];

const domain = (): Any => loopback.ep.domain;
const [shm] = getInfo({ fabricAttr: { provName: 'shm' }, epAttr: { type: 'FI_EP_RDM' } });
const endpointOptions = () => ({ av: domain().addressVector(), cq: domain().completionQueue() });

const throwing: Case[] = [
  ['Fabric.open(info)', (v) => Fabric.open(v), /info/],
  ['fabric.domain(info)', (v) => withFabric((f) => f.domain(v)), /info/],
  [
    'fabric.domain(options)',
    (v) => withFabric((f) => f.domain(shm, v)),
    /options/,
    junkExcept(...OBJECTS, 'undefined'),
  ],
  [
    'options.driver',
    (v) => withFabric((f) => f.domain(shm, { driver: v })),
    /driver/,
    junkExcept('undefined', 'null'),
  ],
  [
    'options.affinity',
    (v) => withFabric((f) => f.domain(shm, { affinity: v })),
    /affinity/,
    junkExcept('undefined', 'null', '[]'),
  ],
  [
    'options.affinity[0]',
    (v) => withFabric((f) => f.domain(shm, { affinity: [v] })),
    /affinity\[0\]/,
    junkExcept(...INTEGERS),
  ],
  [
    'options.spin',
    (v) => withFabric((f) => f.domain(shm, { spin: v })),
    /spin/,
    junkExcept(...INTEGERS, '1.5', 'undefined', 'null'),
  ],
  [
    'options.busyPoll',
    (v) => withFabric((f) => f.domain(shm, { busyPoll: v })),
    /busyPoll/,
    junkExcept(...INTEGERS, '1.5', 'undefined', 'null'),
  ],
  [
    'options.idle',
    (v) => withFabric((f) => f.domain(shm, { idle: v })),
    /idle/,
    junkExcept('1.5', 'undefined', 'null'),
  ],
  [
    'domain.addressVector(options)',
    (v) => domain().addressVector(v),
    /options/,
    junkExcept(...OBJECTS, 'undefined'),
  ],
  [
    'options.type',
    (v) => domain().addressVector({ type: v }),
    /options\.type/,
    junkExcept('undefined', 'null'),
  ],
  [
    'options.count',
    (v) => domain().addressVector({ count: v }),
    /options\.count/,
    junkExcept(...INTEGERS, 'undefined', 'null'),
  ],
  [
    'domain.completionQueue(options)',
    (v) => domain().completionQueue(v),
    /options/,
    junkExcept(...OBJECTS, 'undefined'),
  ],
  [
    'options.size',
    (v) => domain().completionQueue({ size: v }),
    /options\.size/,
    junkExcept(...INTEGERS, 'undefined', 'null'),
  ],
  [
    'options.format',
    (v) => domain().completionQueue({ format: v }),
    /options\.format/,
    junkExcept('undefined', 'null'),
  ],
  ['domain.endpoint(info)', (v) => domain().endpoint(v, endpointOptions()), /info/],
  ['domain.endpoint(options)', (v) => domain().endpoint(loopback.ep.info, v), /options/],
  [
    'options.av',
    (v) => domain().endpoint(loopback.ep.info, { ...endpointOptions(), av: v }),
    /options\.av/,
  ],
  [
    'options.cq',
    (v) => domain().endpoint(loopback.ep.info, { ...endpointOptions(), cq: v }),
    /options\.cq/,
  ],
  [
    'options.sendQueue',
    (v) => domain().endpoint(loopback.ep.info, { ...endpointOptions(), sendQueue: v }),
    /options\.sendQueue/,
    junkExcept('undefined'),
  ],
  [
    'options.counters',
    (v) => domain().endpoint(loopback.ep.info, { ...endpointOptions(), counters: v }),
    /options\.counters/,
    junkExcept('undefined', '[]'),
  ],
  [
    'options.counters[0]',
    (v) => domain().endpoint(loopback.ep.info, { ...endpointOptions(), counters: [v] }),
    /options\.counters\[0\]/,
  ],
  [
    'options.counters[0].counter',
    (v) =>
      domain().endpoint(loopback.ep.info, {
        ...endpointOptions(),
        counters: [{ counter: v, flags: [] }],
      }),
    /options\.counters\[0\]\.counter/,
  ],
  [
    'options.options',
    (v) => domain().endpoint(loopback.ep.info, { ...endpointOptions(), options: v }),
    /option/,
    junkExcept('undefined', '{}', 'a proxy'),
  ],
  [
    'options.staging',
    (v) => domain().endpoint(loopback.ep.info, { ...endpointOptions(), staging: v }),
    /options\.staging/,
    junkExcept('undefined', 'true'),
  ],
  ['domain.remote(descriptor)', (v) => domain().remote(v), /descriptor/],
  ['av.insert(address)', (v) => loopback.ep.av.insert(v), /address/, junkExcept('a string')],
  [
    'av.straddr(address)',
    (v) => loopback.ep.av.straddr(v),
    /address/,
    junkExcept('an empty string', 'a string'),
  ],
  ['av.lookup(peer)', (v) => loopback.ep.av.lookup(v), /peer/],
  ['cq.read(max)', (v) => loopback.ep.receiveQueue.read(v), /max/, junkExcept('undefined')],
  [
    'batch.update(index)',
    (v) => withBatch((b) => b.update(v, {})),
    /index/,
    junkExcept(...INTEGERS),
  ],
  [
    'batch.update(change)',
    (v) => withBatch((b) => b.update(0, v)),
    /change/,
    junkExcept(...OBJECTS),
  ],
  [
    'endpoint.messages(options)',
    (v) => (loopback.ep as Any).messages(v),
    /options/,
    junkExcept(...OBJECTS, 'undefined'),
  ],
  [
    'options.count of messages()',
    (v) => (loopback.ep as Any).messages({ count: v }),
    /options\.count/,
    junkExcept('undefined', 'null'),
  ],
  [
    'options.size of messages()',
    (v) => (loopback.ep as Any).messages({ size: v }),
    /options\.size/,
    junkExcept('undefined', 'null'),
  ],
  [
    'options.borrow of messages()',
    (v) => (loopback.ep as Any).messages({ borrow: v }),
    /options\.borrow/,
    junkExcept('undefined', 'null', 'true'),
  ],
  ['endpoint.multiRecv(buffer)', (v) => (loopback.ep as Any).multiRecv(v), /buffer/],
  ['endpoint.getOption(name)', (v) => (loopback.ep as Any).getOption(v), /option/],
  ['endpoint.setOption(name)', (v) => (loopback.ep as Any).setOption(v, 1), /option/],
  [
    'endpoint.setOption(value)',
    (v) => (loopback.ep as Any).setOption('FI_OPT_MIN_MULTI_RECV', v),
    /FI_OPT_MIN_MULTI_RECV/,
    junkExcept('-0'),
  ],
  [
    'endpoint.atomicValid(kind)',
    (v) => (loopback.ep as Any).atomicValid(v, 'FI_UINT64', 'FI_SUM'),
    /kind/,
  ],
  [
    'endpoint.atomicValid(datatype)',
    (v) => (loopback.ep as Any).atomicValid('atomic', v, 'FI_SUM'),
    /datatype/,
  ],
  [
    'endpoint.atomicValid(op)',
    (v) => (loopback.ep as Any).atomicValid('atomic', 'FI_UINT64', v),
    /op/,
  ],
  ['domain.wait(count)', (v) => manual.ep.domain.wait(v, 0), /count/, junkExcept(...INTEGERS)],
  [
    'domain.wait(timeout)',
    (v) => manual.ep.domain.wait(0, v),
    /timeout/,
    junkExcept(...INTEGERS, '1.5'),
  ],
  [
    'batch.run(timeout)',
    (v) => withBatch((b) => b.run(v), manual),
    /timeout/,
    junkExcept(...INTEGERS, ...OBJECTS, '1.5', 'undefined'),
  ],
];

function withFabric(use: (fabric: Any) => unknown): unknown {
  const fabric = Fabric.open(shm!);
  try {
    return use(fabric);
  } finally {
    void fabric.close();
  }
}

function withBatch(use: (batch: Any) => unknown, on = loopback): unknown {
  using batch = on.ep.batch();
  batch.send(new Uint8Array(1), on.self);
  return use(batch);
}

describe('an invalid value throws an error that names the argument', () => {
  test.each(throwing)('%s', async (_call, run, names, values = junk) => {
    for (const [label, value] of values) {
      await expectThrown(() => run(value), names).catch((error: Error) => {
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
