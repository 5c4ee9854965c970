// Peers of the efa provider that do not respond: operations fail with the device's status after its timeout.
import { version } from 'libfabric';
import { beforeEach, describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { TIMEOUT_MS } from '../support/short-timeout.js';
import { testFaults } from '../support/softefa.js';
import { efaError, fabricError, type Pair, pair } from '../support/transfer.js';

const faults = testFaults();

// The device's status, or FI_EFA_ERR_ESTABLISHED_RECV_UNRESP.
const { major, minor } = version();
const UNRESPONSIVE = major > 2 || (major === 2 && minor >= 3) ? 4124 : 13;

type Wire = Pair<'FI_EP_RDM', 'FI_MSG' | 'FI_RMA'>;

let wire: Wire;
let region: Awaited<ReturnType<Wire['b']['domain']['allocate']>>;

beforeEach(async (context) => {
  wire = await pair(context, 'efa', ['FI_MSG', 'FI_RMA']);
  const { a, b, toA, toB } = wire;
  await wire.done(Promise.all([a.send(pattern(8), toB), b.recv(new Uint8Array(8))]));
  await wire.done(Promise.all([b.send(pattern(8), toA), a.recv(new Uint8Array(8))]));
  region = await b.domain.allocate(1 << 20, ['FI_REMOTE_WRITE', 'FI_REMOTE_READ']);
});

const operations = {
  'a message': () => wire.a.send(pattern(64), wire.toB),
  'a message that the peer reads': () => wire.a.send(pattern(4 << 20), wire.toB),
  'a write': () =>
    wire.a.write(pattern(64), wire.toB, wire.a.domain.remote(region.descriptor()), {
      flags: ['FI_DELIVERY_COMPLETE'],
    }),
  'a read': () =>
    wire.a.read(new Uint8Array(4096), wire.toB, wire.a.domain.remote(region.descriptor())),
};

describe.each(['freeze', 'portDown'] as const)('%s', (kind) => {
  test.each(Object.entries(operations))(
    "fails %s after the device's timeout",
    async (_, operation) => {
      faults.add(kind);
      const begin = performance.now();
      const error = await wire.fails(operation());
      expect(performance.now() - begin).toBeGreaterThanOrEqual(TIMEOUT_MS);
      expect(error).toEqual(fabricError(efaError(13)));
      expect(error).toMatchObject({ provErrno: UNRESPONSIVE });
    },
  );

  test('that ends before the timeout fails no operation', async () => {
    const fault = faults.add(kind);
    const sent = wire.a.send(pattern(64, 3), wire.toB);
    const target = new Uint8Array(64);
    const received = wire.b.recv(target);
    while (fault.hits === 0) await new Promise(setImmediate);
    fault.remove();
    await wire.done(Promise.all([sent, received]));
    expectBytes(target, pattern(64, 3));
  });
});

test.each(Object.entries(operations))('a killed peer fails %s at once', async (_, call) => {
  faults.add('kill');
  expect(await wire.fails(call())).toMatchObject({
    code: efaError(13),
    provErrno: UNRESPONSIVE,
  });
});

test('a fault of one peer does not affect another', async (context) => {
  const other = await pair(context, 'efa', ['FI_MSG']);
  const [, qpn] = /:(\d+):\d+$/.exec(wire.a.av.straddr(wire.b.address)) ?? [];
  faults.add('kill', { qpn: Number(qpn) });
  expect(await wire.fails(operations['a message']())).toEqual(fabricError(efaError(13)));
  const received = other.b.recv(new Uint8Array(64));
  await other.done(Promise.all([other.a.send(pattern(64), other.toB), received]));
});

test('close() resolves while a peer is silent', async () => {
  faults.add('freeze');
  const sent = wire.a.send(pattern(64), wire.toB);
  const settled = Promise.allSettled([sent]);
  await wire.done(wire.a.close({ timeout: 1 }));
  expect((await settled)[0]?.status).toBe('rejected');
});
