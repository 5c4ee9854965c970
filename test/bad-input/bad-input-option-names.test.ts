// A misspelt option is refused by every call, with the option that was meant.
import { dumpOnSignal, Fabric, getInfo, open } from 'libfabric';
import { SoftefaFaults, softefaEnvironment } from 'libfabric/softefa';
import { counters } from 'libfabric/verbs';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { nearestName } from '../../dist/base/nearest-name.js';
import { expectWorking, fixturesOfFile, loopbackOfFile, refusalOf } from '../support/bad-input.js';
import { ownNamespace } from '../support/own-namespace.js';
import { callVerb, type Fixtures, VERBS, verbs } from '../support/verbs.js';

const loopback = loopbackOfFile();
const fixtures = fixturesOfFile(loopback, 4096);

const WRONG = { timout: 1 } as object;

/** Every call with an options object that is no data transfer call. */
const calls: readonly (readonly [string, () => unknown, string])[] = [
  ['open', () => open({ provder: 'tcp' } as object), 'provider'],
  ['fabric.domain', () => fabric().domain(info(), { drivr: 'loop' } as object), 'driver'],
  ['domain.addressVector', () => domain().addressVector({ cont: 1 } as object), 'count'],
  ['domain.completionQueue', () => domain().completionQueue({ siz: 1 } as object), 'size'],
  ['domain.counter', () => domain().counter({ event: 1 } as object), 'events'],
  [
    'domain.endpoint',
    () => domain().endpoint(info(), { ...bound(), stagng: true } as never),
    'staging',
  ],
  ['domain.register', () => domain().register(new Uint8Array(8), ['FI_SEND'], WRONG), 'timeout'],
  [
    'domain.allocate',
    () => domain().allocate(8, ['FI_SEND'], { hugepage: 1 } as object),
    'hugePages',
  ],
  ['domain.close', () => domain().close(WRONG), 'timeout'],
  ['fabric.close', () => fabric().close(WRONG), 'timeout'],
  ['endpoint.close', () => loopback.ep.close(WRONG), 'timeout'],
  ['endpoint.messages', () => loopback.ep.messages({ sise: 1 } as object), 'size'],
  ['endpoint.multiRecv', () => loopback.ep.multiRecv(new Uint8Array(64), WRONG), 'timeout'],
  ['av.insertMany', () => loopback.ep.av.insertMany([], WRONG), 'timeout'],
  ['av.insertService', () => loopback.ep.av.insertService('localhost', 1, WRONG), 'timeout'],
  ['av.remove', () => loopback.ep.av.remove(fixtures.self, WRONG), 'timeout'],
  ['cq.arrived', () => loopback.ep.receiveQueue.arrived(1n, 1, WRONG), 'timeout'],
  ['cq.immediates', () => loopback.ep.receiveQueue.immediates({ limt: 1 } as object), 'limit'],
  ['region.close', () => fixtures.region.close(WRONG), 'timeout'],
  ['batch.submit', () => filled().submit({ time: 2 } as object), 'times'],
  ['batch.run', () => filled().run({ evry: 2 } as object), 'every'],
  ['batch.update', () => filled().update(0, { ofset: 2 } as object), 'offset'],
  [
    'batch.writev',
    () =>
      filled().writev([new Uint8Array(8)], fixtures.self, [
        { remote: fixtures.remote, lenght: 8 },
      ] as never),
    'length',
  ],
  ['dumpOnSignal', () => dumpOnSignal({ fil: '/dev/null' } as object), 'file'],
  ['counters', () => counters('none', { prot: 1 } as object), 'port'],
  ['counters.watch', () => counters.watch('none', { intervall: 1 } as object), 'interval'],
  ['softefaEnvironment', () => softefaEnvironment({ nic: 2 } as object), 'nics'],
];

const domain = () => loopback.ep.domain;
const info = () => loopback.ep.info as never;
const bound = () => ({ av: loopback.ep.av, cq: loopback.ep.receiveQueue });
let opened: Fabric | undefined;
const fabric = () => {
  opened ??= Fabric.open(loopback.ep.info);
  return opened;
};

function filled() {
  const batch = loopback.ep.batch();
  batch.write(new Uint8Array(8), fixtures.self, fixtures.remote, { offset: 8 });
  return batch;
}

afterAll(async () => {
  await opened?.close();
});

const refusal = (nearest: string) => ({
  error: {
    code: 'ERR_INVALID_ARG_VALUE',
    name: 'TypeError',
    message: expect.stringContaining(`; did you mean '${nearest}'?`),
  },
});

test.each(calls)('%s', async (_, call, nearest) => {
  expect(await refusalOf(call)).toMatchObject(refusal(nearest));
});

describe('faults of the software device', () => {
  test.each([
    ['set', (faults: SoftefaFaults) => faults.set({ dely: 1 } as object), 'delay'],
    ['add', (faults: SoftefaFaults) => faults.add('rnr', { cont: 1 } as object), 'count'],
  ])('%s', async (_, call, nearest) => {
    const faults = new SoftefaFaults({ namespace: ownNamespace('names') });
    onTestFinished(() => faults.close());
    expect(await refusalOf(() => call(faults))).toMatchObject(refusal(nearest));
  });
});

const withOptions = VERBS.filter((verb) => 'options' in verbs({} as Fixtures)[verb]!());

describe.each(withOptions)('%s', (verb) => {
  const misspelt = () => {
    const args = verbs(fixtures)[verb]!();
    return { ...args, options: { ...(args.options as object), ...WRONG } };
  };

  test('of an endpoint rejects, also beside an option that is known', async () => {
    const { ep } = loopback;
    expect(await refusalOf(() => callVerb(ep, verb, misspelt()))).toMatchObject({
      how: 'rejected',
      ...refusal('timeout'),
    });
    const args = misspelt();
    const both = { ...args, options: { ...args.options, context: 1 } };
    expect(await refusalOf(() => callVerb(ep, verb, both))).toMatchObject(refusal('timeout'));
  });

  test('of a batch and of post throws if no known option is set', async () => {
    const { ep } = loopback;
    for (const target of [ep.batch(), ep.post]) {
      expect(await refusalOf(() => callVerb(target, verb, misspelt()))).toMatchObject({
        how: 'threw',
        ...refusal('timeout'),
      });
    }
  });

  test('accepts a member that is undefined', async () => {
    const args = verbs(fixtures)[verb]!();
    const options = { ...(args.options as object), timout: undefined };
    callVerb(loopback.ep.batch(), verb, { ...args, options });
  });
});

test('an inject write of post takes a context, for the entry of its failure', () => {
  const options = { context: 'mine' };
  loopback.ep.post.injectWrite(Uint8Array.of(1), fixtures.self, fixtures.remote, options);
});

test('the endpoint works after all refusals', async () => {
  await expectWorking(loopback.ep, loopback.self);
});

test('the attributes of open() and getInfo() are checked by the addon', async () => {
  const attributes = { fabricAttr: { provname: 'tcp' } } as object;
  expect(() => getInfo(attributes)).toThrow("did you mean 'provName'");
  await expect(open({ txAttr: { sise: 1 } as object })).rejects.toThrow("did you mean 'size'");
});

test.each([
  ['timout', 'timeout'],
  ['Timeout', 'timeout'],
  ['singal', 'signal'],
  ['t', undefined],
  ['retries', undefined],
  ['', undefined],
])('the name nearest to %j is %j', (wrong, nearest) => {
  expect(nearestName(wrong, ['signal', 'timeout'])).toBe(nearest);
});

test('a name that is like no other is refused with all names', async () => {
  await expect(loopback.ep.av.insertMany([], { retries: 3 } as object)).rejects.toThrow(
    "options has no member 'retries'; use signal, timeout",
  );
});
