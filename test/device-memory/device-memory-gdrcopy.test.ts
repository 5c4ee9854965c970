// Copies between the host and memory of CUDA with GDRCopy, by a libfabric that was built with both, over fakes of the
// driver, the runtime and GDRCopy. `npm run suite -- hmem` builds such a libfabric.
import { open } from 'libfabric';
import { beforeEach, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { cudaMemoryOf, freedAfterwards } from '../support/cuda-memory.js';
import { whyNoCuda } from '../support/device-memory.js';
import { calls, callsSince, loadFakeCuda } from '../support/fake-cuda.js';
import { closing, Pair } from '../support/transfer.js';

loadFakeCuda({ runtime: true, gdrcopy: true });

const CAPS = ['FI_MSG', 'FI_RMA', 'FI_HMEM'] as const;
const LOCAL = ['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE'] as const;
const SIZE = 100_000;

beforeEach((context) => {
  const reason = whyNoCuda();
  context.skip(reason !== undefined, reason);
});

const openEfa = async () => closing(await open({ provider: 'efa', fabric: 'efa', caps: CAPS }));
const heldSince = (before: Record<string, number>) =>
  Object.fromEntries(
    Object.entries(callsSince(before)).filter(
      ([name, more]) => /^held:(pinned|mappings)$/.test(name) && more !== 0,
    ),
  );

test('efa: the provider copies messages into memory of CUDA with GDRCopy', async (context) => {
  const a = await openEfa();
  context.skip(calls().gdr_open === undefined, 'this libfabric was built without GDRCopy');
  const { b, toB } = new Pair<'FI_EP_RDM', (typeof CAPS)[number]>(a, await openEfa());
  const [from, to] = [
    freedAfterwards(cudaMemoryOf(pattern(SIZE, 1))),
    freedAfterwards(cudaMemoryOf(pattern(SIZE, 2))),
  ];
  const before = calls();
  const source = await a.domain.register(from, LOCAL);
  const target = await b.domain.register(to, LOCAL);
  expect(heldSince(before)).toEqual({ 'held:pinned': 2, 'held:mappings': 2 });
  const expected = pattern(SIZE, 2);
  for (const size of [1, 32, 100, 4000]) {
    const start = calls();
    const received = b.recv(target.slice(size, 2 * size));
    await a.send(source.slice(3, 3 + size), toB);
    expect(await received).toMatchObject({ length: size });
    const called = callsSince(start);
    expect(called.gdr_copy_to_mapping, `${size} bytes`).toBeGreaterThan(0);
    const copies = Object.keys(called).filter((name) => name.startsWith('cuMemcpy'));
    expect(copies, `${size} bytes`).toEqual([]);
    expected.set(pattern(SIZE, 1).subarray(3, 3 + size), size);
  }
  expectBytes(to.read(new Uint8Array(SIZE)), expected);
  for (const region of [source, target]) await region.close();
  expect(heldSince(before)).toEqual({});
});

test.each(['gdr_pin_buffer', 'gdr_map'])(
  'efa: without a mapping, because %s fails, messages still arrive, and nothing is left',
  async (name) => {
    const a = await openEfa();
    const { b, toB } = new Pair<'FI_EP_RDM', (typeof CAPS)[number]>(a, await openEfa());
    const memory = freedAfterwards(cudaMemoryOf(pattern(SIZE, 3)));
    const before = calls();
    process.env.FAKE_CUDA_FAIL = `${name}:1:12`;
    const source = await a.domain.register(memory, LOCAL);
    const host = await b.domain.allocate(SIZE, ['FI_RECV']);
    const received = b.recv(host.slice(0, 4000));
    await a.send(source.slice(0, 4000), toB);
    expect(await received).toMatchObject({ length: 4000 });
    expectBytes(host.bytes.slice(0, 4000), pattern(SIZE, 3).subarray(0, 4000));
    await source.close();
    expect(heldSince(before)).toEqual({});
  },
);
