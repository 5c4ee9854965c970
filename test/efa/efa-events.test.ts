// Errors of an efa endpoint that belong to no operation. The provider writes them to the endpoint's event
// queue. Without an event queue, it aborts the process.
import '../support/default-queues.js';
import { type Endpoint, version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { runInline } from '../support/command.js';
import { drivers } from '../support/providers.js';
import { namespace, testFaults, withSoftefa } from '../support/softefa.js';
import { pair } from '../support/transfer.js';

const faults = testFaults();

// Two statuses of the device, and an error number of the provider.
const QUEUE_PAIR_FAILED = 2;
const BAD_ADDRESS = 7;
const NO_BUFFERS = 4112;

const qpnOf = ({ av, address }: Endpoint): number =>
  Number(/:(\d+):\d+$/.exec(av.straddr(address))?.[1]);

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

describe.each(drivers)('%s driver', (driver) => {
  test('a failed handshake is in readErrors(), and other operations succeed', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG'], driver);
    const { a, b, toA, toB } = wire;
    const refused = faults.add('status', { value: BAD_ADDRESS, count: 1, qpn: qpnOf(a) });
    await wire.done(Promise.all([a.send(pattern(64), toB), b.recv(new Uint8Array(64))]));
    const reported = async () => {
      for (;;) {
        const errors = b.receiveQueue.readErrors();
        if (errors.length > 0) return errors;
        await nextTick();
      }
    };
    const errors = await wire.done(reported());

    expect(refused.hits).toBe(1);
    expect(errors).toMatchObject([
      { syscall: 'fi_eq_readerr', provErrno: BAD_ADDRESS, provMessage: expect.stringMatching('.') },
    ]);
    const target = new Uint8Array(64);
    await wire.done(Promise.all([b.send(pattern(64, 3), toA), a.recv(target)]));
    expectBytes(target, pattern(64, 3));
    await wire.done(Promise.all([a.send(pattern(64, 5), toB), b.recv(target)]));
    expectBytes(target, pattern(64, 5));
    expect(b.receiveQueue.readErrors()).toEqual([]);
  });

  test('an endpoint that may not lock its receive buffers fails every operation with FI_ENOMEM, and closes', () => {
    const source = `
      import { open } from 'libfabric';
      const errors = [];
      const failed = async (operation) => {
        let pending = true;
        operation.catch((error) => errors.push(error)).then(() => { pending = false; });
        while (pending) {
          if (endpoint?.domain.driver === 'manual') endpoint.domain.progress();
          await new Promise(setImmediate);
        }
      };
      let endpoint;
      await failed(open({ provider: 'efa', driver: '${driver}' }).then((e) => { endpoint = e; }));
      if (endpoint !== undefined) {
        let peer; // the address vector of a closed endpoint refuses addresses
        try {
          peer = endpoint.av.insert(endpoint.address);
        } catch ({ code }) {
          if (code !== 'FI_ENOMEM') errors.push(new Error(code));
        }
        const bytes = new Uint8Array(64);
        await failed(endpoint.recv(bytes));
        await failed(endpoint.recv(bytes));
        if (peer) await failed(endpoint.send(bytes, peer));
        const batch = endpoint.batch();
        batch.recv(bytes);
        await failed(batch.submit());
        errors.push(...endpoint.receiveQueue.readErrors());
        await endpoint.close();
      }
      console.log(JSON.stringify(errors.map(({ code, provErrno, hint }) => ({ code, provErrno, hint }))));`;
    const device = { namespace: `${namespace}-${driver}`, memlock: 1 << 20 };
    const { stdout, stderr, status } = runInline(source, withSoftefa(device));
    expect(status, stderr).toBe(0);
    const errors = JSON.parse(stdout);
    if (errors.length === 1) {
      // open() already fails: it registers the receive buffers.
      expect(version().major).toBeGreaterThan(1);
      expect(errors).toEqual([{ code: 'FI_ENOMEM', hint: expect.stringContaining('ulimit -l') }]);
      return;
    }
    const hint = expect.stringContaining('ulimit -l');
    expect(errors.length).toBeGreaterThanOrEqual(4);
    for (const error of errors) {
      expect(error).toEqual({ code: 'FI_ENOMEM', provErrno: NO_BUFFERS, hint });
    }
  });

  test('an endpoint whose queue pair failed fails its pending and later operations, and closes', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG'], driver);
    const silent = await pair(context, 'efa', ['FI_MSG'], driver);
    const { a, b, toA, toB } = wire;
    const batch = b.batch();
    for (let i = 0; i < 3; i++) batch.recv(new Uint8Array(64));
    const first = b.recv(new Uint8Array(64));
    const failing = [b.recv(new Uint8Array(64)), batch.submit()];
    faults.add('freeze', { qpn: qpnOf(silent.a) });
    failing.push(b.send(pattern(64), b.av.insert(silent.a.address)));
    const failed = Promise.all(failing.map((operation) => wire.fails(operation)));
    await wire.postedByB(6);

    // b's handshake with a fails.
    faults.add('status', { value: QUEUE_PAIR_FAILED, count: 1, qpn: qpnOf(a) });
    await wire.done(Promise.all([a.send(pattern(64), toB), first]));
    const cause = {
      syscall: 'fi_eq_readerr',
      provErrno: QUEUE_PAIR_FAILED,
      hint: expect.stringMatching('.'),
    };
    expect(await failed).toMatchObject([cause, cause, cause]);
    const refused = [b.send(pattern(8), toA), b.recv(new Uint8Array(8)), batch.submit()];
    const errors = await Promise.all(refused.map((operation) => wire.fails(operation)));
    expect(errors).toMatchObject([cause, cause, cause]);
    expect(b.receiveQueue.readErrors()).toMatchObject([cause]);
    await wire.done(b.close());
    expect(b.closed).toBe(true);
  });
});
