// The efa provider on a device whose calls of verbs fail: the caller gets a typed error, and later calls succeed.
import { FabricError, open, version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { runInline } from '../support/command.js';
import { drivers } from '../support/providers.js';
import { settle } from '../support/settle.js';
import { namespace, testFaults, withSoftefa } from '../support/softefa.js';
import { closing, fabricError, pair } from '../support/transfer.js';

const faults = testFaults();

const NO_BUFFERS = 4112; // FI_EFA_ERR_INTERNAL_RX_BUF_POST
const { major, minor } = version();
const LOCKS = 'efa of 2.3 and 2.4 never returns from fi_enable(3): docs/provider-limits.md';
const CRASHES = 'efa since 1.22 ends the process: docs/provider-limits.md';
const IGNORES = 'efa since 1.22 fails no operation for this: docs/provider-limits.md';
const ERRORS = ['FI_ENOMEM', 'FI_EAGAIN', 'FI_EIO', 'FI_EINVAL'] as const;
const someErrors = casesOf(ERRORS, (error) => error === 'FI_EIO');

type Wire = Awaited<ReturnType<typeof pair<'FI_MSG'>>>;

const opened = async () => closing(await open({ provider: 'efa', caps: ['FI_MSG'] }));

async function exchangeMessage(wire: Wire) {
  const into = new Uint8Array(64);
  const received = wire.b.recv(into);
  await wire.done(Promise.all([wire.a.send(pattern(64), wire.toB), received]));
  expectBytes(into, pattern(64));
}

describe.each(someErrors)('%s', (value) => {
  test.for([0, 1, 2])(
    'open() rejects if the device refuses to change the state of its queue pair after %i changes',
    async (after, context) => {
      context.skip(major === 2 && (minor === 3 || minor === 4), LOCKS);
      using refused = faults.add('modify', { value, count: 1, after });
      await expect(open({ provider: 'efa', caps: ['FI_MSG'] })).rejects.toEqual(fabricError(value));
      expect(refused.hits).toBe(1);
      await opened();
    },
  );

  test('open() rejects if the device creates no queue pair', async () => {
    const outcomes: unknown[] = [];
    // It is the second object with libfabric 1.17, and the third with 2.6, where efa creates the
    // completion queue at its second attempt.
    for (const after of [1, 2]) {
      using refused = faults.add('creation', { value, count: 1, after });
      outcomes.push(await opened().catch((thrown) => thrown));
      if (outcomes.at(-1) instanceof Error) expect(refused.hits).toBe(1);
    }
    expect(outcomes.filter(FabricError.is)).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome instanceof Error)).toHaveLength(1);
    await opened();
  });

  test.for(['addressHandle', 'query'] as const)(
    'an address is refused if the device fails its handle (%s), and accepted afterwards',
    async (kind, context) => {
      const wire = await pair(context, 'efa', ['FI_MSG']);
      // Of another host: libfabric 2 has one handle for all addresses of a NIC.
      const address = new Uint8Array(wire.a.address);
      new DataView(address.buffer).setUint16(12, 7);
      using refused = faults.add(kind, { value, count: 1 });
      expect(() => wire.a.av.insert(address)).toThrow(FabricError);
      expect(refused.hits).toBe(1);
      expect(wire.a.av.lookup(wire.a.av.insert(address))).toEqual(address);
      await exchangeMessage(wire);
    },
  );
});

describe.each(drivers)('%s driver', (driver) => {
  test('sends wait while the device refuses posts with EAGAIN', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG'], driver);
    using full = faults.add('post', { value: 'FI_EAGAIN', count: 3 });
    await exchangeMessage(wire);
    expect(full.hits).toBe(3);
  });

  test.for(someErrors)(
    'an endpoint whose receive buffers the device refuses with %s fails its operations, and another one succeeds',
    async (value, context) => {
      context.skip(major > 1, CRASHES);
      // Not only once: an endpoint of the test before may still be closing, and may post a receive.
      using refused = faults.add('receive', { value });
      const broken = closing(await open({ provider: 'efa', caps: ['FI_MSG'], driver }));
      const error = await settle(
        broken.recv(new Uint8Array(8)).catch((thrown) => thrown),
        broken.domain,
      );
      expect(error).toMatchObject({ syscall: 'fi_eq_readerr', provErrno: NO_BUFFERS });
      expect(refused.hits).toBeGreaterThan(0);
      refused.remove();
      await exchangeMessage(await pair(context, 'efa', ['FI_MSG'], driver));
    },
  );

  test.for(someErrors)(
    'an endpoint whose completion queue the device cannot poll (%s) fails its operations, and another one succeeds',
    async (value, context) => {
      context.skip(major > 1, IGNORES);
      const wire = await pair(context, 'efa', ['FI_MSG'], driver);
      await exchangeMessage(wire);
      using broken = faults.add('poll', { value });
      const received = wire.fails(wire.b.recv(new Uint8Array(8)));
      const sent = wire.fails(wire.a.send(new Uint8Array(8), wire.toB));
      for (const error of await Promise.all([received, sent])) {
        expect(error).toMatchObject({ code: value, syscall: 'fi_eq_readerr' });
      }
      broken.remove();
      await exchangeMessage(await pair(context, 'efa', ['FI_MSG'], driver));
    },
  );

  test('calls of a broken endpoint throw the cause after the engine has closed it', async (context) => {
    context.skip(major > 1, IGNORES);
    const wire = await pair(context, 'efa', ['FI_MSG', 'FI_ATOMIC'], driver);
    using _ = faults.add('poll', { value: 'FI_EIO' });
    expect(await wire.fails(wire.b.recv(new Uint8Array(8)))).toMatchObject({ code: 'FI_EIO' });
    const thrown = (ask: () => unknown) => {
      try {
        ask();
      } catch (error) {
        return error;
      }
      return undefined;
    };
    const { b } = wire;
    const limit = () => b.getOption('FI_OPT_MIN_MULTI_RECV');
    while (thrown(limit) === undefined) {
      if (driver === 'manual') b.domain.progress();
      await new Promise(setImmediate);
    }
    for (const ask of [
      limit,
      () => b.setOption('FI_OPT_MIN_MULTI_RECV', 64),
      () => b.atomicValid('atomic', 'FI_UINT64', 'FI_SUM'),
    ]) {
      expect(thrown(ask)).toEqual(fabricError('FI_EIO'));
    }
  });
});

test.each(someErrors)(
  'a process whose devices cannot be opened or queried (%s) gets an error, and ends',
  (value) => {
    const program = (after: number) => `
      import { FabricError, open } from 'libfabric';
      import { SoftefaFaults } from 'libfabric/softefa';
      const faults = new SoftefaFaults({ namespace: '${namespace}' });
      const fault = faults.add('query', { value: '${value}', count: 1, after: ${after} });
      const opening = open({ provider: 'efa', caps: ['FI_MSG'] });
      const outcome = await opening.then((ep) => ep.close(), (error) => error);
      console.log(outcome === undefined || FabricError.is(outcome), fault.hits);
      process.exit();`;
    for (let after = 0; after < 5; after++) {
      const { status, stdout, stderr } = runInline(program(after), withSoftefa());
      expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: 'true 1\n' });
    }
  },
);
