// console.log() of every object prints one line. diagnostics-objects.test.ts has all classes.
import { inspect } from 'node:util';
import { Fabric, MemoryRegion, open } from 'libfabric';
import { afterAll, beforeAll, expect, test } from 'vitest';

let ep: Awaited<ReturnType<typeof openAll>>;
const openAll = () =>
  open({
    provider: 'shm',
    caps: ['FI_MSG', 'FI_TAGGED', 'FI_RMA', 'FI_MULTI_RECV', 'FI_SOURCE'],
    counters: { sends: ['FI_SEND'] },
  });

beforeAll(async () => {
  ep = await openAll();
});
afterAll(() => ep.close());

test('an endpoint names its provider, type and address', () => {
  const { provName } = ep.info.fabricAttr;
  expect(inspect(ep)).toBe(
    `Endpoint { provider: '${provName}', domain: 'shm', type: 'FI_EP_RDM', address: '${ep.av.straddr(ep.address)}' }`,
  );
});

test('the address of a socket is IP:PORT', async () => {
  const tcp = await open({ provider: 'tcp', node: '127.0.0.1' });
  const [, address] = /:\/\/(.*)$/.exec(tcp.av.straddr(tcp.address)) ?? [];
  expect(inspect(tcp)).toContain(`address: '${address}' }`);
  await tcp.close();
  expect(inspect(tcp)).toContain(`address: '${address}', closed: true }`);
});

test('the other objects print one line each', async () => {
  const { domain, av, receiveQueue: cq } = ep;
  const peer = av.insert(ep.address);
  const region = await domain.allocate(4096, ['FI_SEND', 'FI_REMOTE_WRITE']);
  const remote = domain.remote(region.descriptor());
  const batch = ep.batch();
  batch.recv(new Uint8Array(8));
  const received = ep.trecv(new Uint8Array(8), null, 7n);
  await ep.tsend(new Uint8Array(3), peer, 7n);
  const fabric = Fabric.open(ep.info);
  const objects = {
    fabric,
    domain,
    av,
    cq,
    counter: ep.counters.sends,
    peer,
    region,
    slice: region.slice(8, 24),
    remote,
    batch,
    completion: await received,
    post: ep.post,
    immediates: cq.immediates(),
    messages: ep.messages(),
    multiRecv: ep.multiRecv(new Uint8Array(8192)),
  };
  const lines = Object.fromEntries(
    Object.entries(objects).map(([name, object]) => [name, inspect(object)]),
  );
  expect(lines).toEqual({
    fabric: "Fabric { name: 'shm' }",
    domain: "Domain { provider: 'shm', domain: 'shm', driver: 'thread' }",
    av: "AddressVector { addrFormat: 'FI_ADDR_STR' }",
    cq: "CompletionQueue { format: 'FI_CQ_FORMAT_TAGGED' }",
    counter: "Counter { events: 'FI_CNTR_EVENTS_COMP' }",
    peer: expect.stringMatching(/^Peer \{ handle: \d+ \}$/),
    region: "MemoryRegion { length: 4096, access: 'FI_SEND, FI_REMOTE_WRITE' }",
    slice: 'RegionSlice { offset: 8, length: 16 }',
    remote: 'RemoteRegion { length: 4096 }',
    batch: 'Batch { operations: 1, inFlight: 0 }',
    completion: `Completion { length: 3, tag: 7n, flags: 'FI_TAGGED, FI_RECV', source: ${inspect(peer)} }`,
    post: 'Post {}',
    immediates: 'Immediates {}',
    messages: 'Messages {}',
    multiRecv: expect.stringMatching(/^MultiRecv \{.*\}$/),
  });
  await objects.messages.return();
  await fabric.close();
  await region.close();
  await av.remove(peer);
  expect([fabric, region, peer].map((object) => inspect(object))).toEqual([
    "Fabric { name: 'shm', closed: true }",
    expect.stringContaining('closed: true }'),
    expect.stringContaining('removed: true }'),
  ]);
});

test('objects within objects are one line too, and deep ones have their name', () => {
  expect(inspect({ ep: { ep } }, { breakLength: 300 })).toContain('Endpoint { provider');
  expect(inspect(ep, { depth: -1 })).toBe('[Endpoint]');
});

test('an object that only inherits from a class prints without an error', () => {
  expect(inspect(Object.create(MemoryRegion.prototype))).toBe('MemoryRegion {}');
});
