// What goes wrong with an efa endpoint outside of any operation. The provider writes it to the
// endpoint's event queue, where there is one; without, it ends the process.
import { SoftefaFaults } from 'libfabric/softefa';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { runInline } from './support/inline.js';
import { namespace, withSoftefa } from './support/softefa.js';
import { drivers, expectBytes, fabricError, pair, pattern } from './support/transfer.js';

const faults = new SoftefaFaults({ namespace });
afterEach(() => faults.clear());
afterAll(() => faults.close());

const BAD_ADDRESS = 7; // the device's status
const NO_BUFFERS = 4112; // the provider's own number

const qpnOf = (straddr: string): number => Number(/:(\d+):\d+$/.exec(straddr)?.[1]);

describe.each(drivers)('%s driver', (driver) => {
  test('a greeting that fails is told to the completion queue and harms nothing else', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG'], driver);
    const { a, b, toA, toB } = wire;
    const qpn = qpnOf(a.av.straddr(a.address));
    const refused = faults.add('status', { value: BAD_ADDRESS, count: 1, qpn });
    await wire.done(Promise.all([a.send(pattern(64), toB), b.recv(new Uint8Array(64))]));

    const before = b.domain.stats().errors;
    const told = async () => {
      for (;;) {
        const errors = b.cq.readErrors();
        if (errors.length > 0) return errors;
        await new Promise(setImmediate);
      }
    };
    const errors = await wire.done(told());
    expect(refused.hits).toBe(1);
    expect(errors).toEqual([expect.objectContaining({ provErrno: BAD_ADDRESS })]);
    expect(errors[0]).toMatchObject({ syscall: 'fi_eq_readerr', provMessage: expect.any(String) });
    expect(b.domain.stats().errors).toBeGreaterThanOrEqual(before);

    const target = new Uint8Array(64);
    await wire.done(Promise.all([b.send(pattern(64, 3), toA), a.recv(target)]));
    expectBytes(target, pattern(64, 3));
    await wire.done(Promise.all([a.send(pattern(64, 5), toB), b.recv(target)]));
    expectBytes(target, pattern(64, 5));
  });

  test('an endpoint whose receive buffers may not be locked fails what it is given, and closes', () => {
    const source = `
      import { open } from 'libfabric';
      const a = await open({ provider: 'efa', driver: '${driver}' });
      const b = await open({ provider: 'efa', driver: '${driver}' });
      const toB = a.av.insert(b.address);
      const turn = async () => {
        for (const { domain } of [a, b]) if (domain.driver === 'manual') domain.progress();
        await new Promise(setImmediate);
      };
      const settled = async (promise) => {
        let error;
        promise.then(() => { error = 'succeeded'; }, (reason) => { error = reason; });
        while (error === undefined) await turn();
        const { code, provErrno, hint, message } = error;
        return { code, provErrno, hint, message };
      };
      const waiting = await settled(b.recv(new Uint8Array(64)));
      const next = await settled(b.recv(new Uint8Array(64)));
      const batch = b.batch();
      batch.recv(new Uint8Array(64));
      const posted = await settled(batch.submit());
      const sent = await settled(a.send(new Uint8Array(64), toB));
      const [unsolicited] = b.cq.readErrors();
      await b.close();
      await a.close();
      console.log(JSON.stringify({ waiting, next, posted, sent, told: unsolicited.provErrno }));`;
    const { stdout, stderr, status } = runInline(
      source,
      withSoftefa({ namespace: `${namespace}-${driver}`, memlock: 1 << 20 }),
    );
    expect(status, stderr).toBe(0);
    const { waiting, next, posted, sent, told } = JSON.parse(stdout);
    for (const error of [waiting, next, posted, sent]) {
      expect(error).toMatchObject({ provErrno: NO_BUFFERS });
      expect(error.hint).toContain('ulimit -l');
    }
    expect(told).toBe(NO_BUFFERS);
  });
});
