// dumpState() returns the open objects and the operations in flight of this thread, to debug a hang.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type DomainState, dumpState, type LibraryState, libraryPath, version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { drivers } from '../support/providers.js';
import { testFaults } from '../support/softefa.js';
import { endpoint, pair } from '../support/transfer.js';

const faults = testFaults();

/** Returns the state of the domain that was opened last. */
const last = (): DomainState => dumpState().domains.at(-1) as DomainState;

describe.each(drivers)('%s driver', (driver) => {
  test('dumpState() contains all open objects and can be serialized as JSON', async (context) => {
    const before = dumpState().domains.length;
    const ep = await endpoint(context, 'shm', ['FI_MSG', 'FI_RMA'], driver);
    const { domain } = ep;
    await domain.allocate(8192, ['FI_REMOTE_READ']);
    domain.addressVector();
    const dump = dumpState();
    expect(JSON.parse(JSON.stringify(dump))).toEqual(dump);
    expect(dump).toMatchObject({ pid: process.pid, threadId: 0, nodeVersion: process.version });
    expect(dump).toMatchObject({ libraryVersion: version().string, libraryPath: libraryPath() });
    expect(dump.domains).toHaveLength(before + 1);
    expect(last()).toMatchObject({
      provider: 'shm',
      domain: domain.info.domainAttr.name,
      driver,
      pending: 0,
      stats: { errors: 0 },
      engine: {
        endpoints: [{ inFlight: 0, closing: false, broken: false }],
        completionQueues: [{ broken: false }],
        addressVectors: [{ peers: 0 }, { peers: 0 }],
        memory: { regions: 1, registeredBytes: 8192 },
        inFlight: 0,
        operations: [],
      },
    });
    await ep.close();
    expect(dumpState().domains).toHaveLength(before);
  });

  test('dumpState() contains the operations in flight with their peer and size', async (context) => {
    const wire = await pair(context, 'efa', ['FI_MSG', 'FI_TAGGED'], driver);
    const { a, b, toA, toB } = wire;
    await wire.done(Promise.all([a.send(pattern(8), toB), b.recv(new Uint8Array(8))]));
    await wire.done(Promise.all([b.send(pattern(8), toA), a.recv(new Uint8Array(8))]));
    const frozen = faults.add('freeze');
    const { operations } = b.domain.stats();
    const batch = b.batch();
    batch.send(pattern(100), toA);
    const pending = [
      b.send(pattern(64), toA),
      b.trecv(new Uint8Array(32), null, 1n),
      b.recv(new Uint8Array(16)),
      batch.submit(),
      b.receiveQueue.arrived(5n, 3),
    ];
    for (const each of pending) each.catch(() => {});
    while (b.domain.stats().operations < operations + 4) {
      if (driver === 'manual') b.domain.progress();
      await new Promise(setImmediate);
    }
    const { engine, pending: requests } = last();
    const peer = b.av.straddr(a.address);
    const posted = { state: 'posted', endpoint: expect.any(Number) };
    expect(requests).toBe(5);
    expect(engine?.inFlight).toBe(5);
    expect(engine?.operations).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ call: 'fi_sendmsg', ...posted, peer, byteLength: 64 }),
        expect.objectContaining({ call: 'fi_trecvmsg', ...posted, byteLength: 32 }),
        expect.objectContaining({ call: 'fi_recvmsg', ...posted, byteLength: 16 }),
        expect.objectContaining({ call: 'batch', ...posted, peer, byteLength: 100, remaining: 1 }),
        expect.objectContaining({ call: 'arrived', remaining: 3 }),
      ]),
    );
    expect(engine?.batches).toEqual([expect.objectContaining({ sends: 1, inFlight: 1 })]);
    expect(engine?.memory.bytesInUse).toBeGreaterThan(0);
    frozen.remove();
  });

  test('dumpState() contains the first 1000 operations that wait for room', async (context) => {
    const wire = await pair(context, 'shm', ['FI_MSG'], driver);
    const sends = Array.from({ length: 5000 }, () => wire.a.send(pattern(8), wire.toB));
    const outcomes = Promise.allSettled(sends);
    const state = () =>
      dumpState().domains.find(
        ({ engine }) =>
          (engine?.endpoints[0]?.waitingSends ?? 0) > 0 && (engine?.inFlight ?? 0) > 1000,
      );
    let found = state();
    while (found === undefined) {
      if (driver === 'manual') wire.a.domain.progress();
      await new Promise(setImmediate);
      found = state();
    }
    const { engine } = found;
    expect(engine?.operations).toHaveLength(1000);
    expect(engine?.operations).toContainEqual(
      expect.objectContaining({ call: 'fi_sendmsg', state: 'waiting', byteLength: 8 }),
    );
    await wire.done(wire.a.close({ timeout: 1 }));
    await outcomes;
  });
});

const program = `
  import { open } from 'libfabric';
  const ep = await open({ provider: 'shm', driver: process.argv[1] });
  ep.recv(new Uint8Array(24));
  setInterval(() => {}, 1000);
  if (ep.domain.driver === 'manual') ep.domain.progress();
  else while (ep.domain.stats().operations === 0) await new Promise(setImmediate);
  console.log('hanging');`;

test.each(drivers)('a hanging process prints its state on SIGUSR2 (%s driver)', async (driver) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program, driver], {
    env: { ...process.env, LIBFABRIC_DUMP_ON_SIGUSR2: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    await once(createInterface(child.stdout), 'line');
    child.kill('SIGUSR2');
    const [line] = await once(createInterface(child.stderr), 'line');
    const dump = JSON.parse(line) as LibraryState;
    expect(dump.pid).toBe(child.pid);
    expect(dump.domains).toMatchObject([
      {
        driver,
        pending: 1,
        engine: { operations: [{ call: 'fi_recvmsg', state: 'posted', byteLength: 24 }] },
      },
    ]);
  } finally {
    child.kill('SIGKILL');
  }
});
