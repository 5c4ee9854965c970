// Memory of an accelerator that is freed while it is registered. The package refuses it for its own memory that is
// registered by its pointer, and a dmabuf keeps its memory. Another library may free its memory: every operation settles,
// nothing is left, and the endpoints still work. `npm run suite -- hmem` builds the libfabric for pointers.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { open } from 'libfabric';
import { allocate as allocateCuda } from 'libfabric/cuda';
import { allocate as allocateNeuron } from 'libfabric/neuron';
import { SoftefaFaults } from 'libfabric/softefa';
import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { cudaMemoryOf } from '../support/cuda-memory.js';
import { whyNoCuda, whyNoDmabuf, whyNoNeuron } from '../support/device-memory.js';
import { enginePair } from '../support/engines.js';
import { held, loadFakeCuda, withFakeCuda } from '../support/fake-cuda.js';
import { countersIn } from '../support/fake-library.js';
import { loadFakeNeuron, withFakeNeuron } from '../support/fake-neuron.js';
import { HANG_MS } from '../support/limits.js';
import { namespace, withSoftefa } from '../support/softefa.js';
import { closing, Pair } from '../support/transfer.js';

loadFakeCuda({ runtime: true });
const neuronFolder = loadFakeNeuron();
allocateNeuron(1).free(); // libfabric 2.1 to 2.4 find Neuron only if the runtime has been started
const counters = join(neuronFolder, 'counters-freed');

const MIB = 1 << 20;
const LOCAL = ['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE'] as const;
const inUse = expect.objectContaining({
  code: 'ERR_INVALID_STATE',
  message: expect.stringMatching(/Memory is registered by its pointer: close its regions first/),
});

const libraries = {
  cuda: { allocate: allocateCuda, whyNot: whyNoCuda, env: withFakeCuda },
  neuron: {
    allocate: allocateNeuron,
    whyNot: whyNoNeuron,
    env: () => withFakeNeuron(neuronFolder),
  },
};

async function connect<const C extends 'FI_HMEM' | 'FI_RMA'>(fabric: 'efa' | 'efa-direct', cap: C) {
  const opening = { provider: 'efa', fabric, caps: ['FI_MSG', 'FI_RMA', cap] } as const;
  const a = closing(await open(opening));
  return new Pair<'FI_EP_RDM', 'FI_MSG' | 'FI_RMA' | C>(a, closing(await open(opening)));
}

describe('efa-direct: by its dmabuf', () => {
  test.for(['before', 'during', 'replaced'] as const)(
    'the region keeps the memory that was freed: %s',
    async (when, context) => {
      const reason = whyNoDmabuf('efa-direct');
      context.skip(reason !== undefined, reason);
      const { a, b, toB, toA } = await connect('efa-direct', 'FI_RMA');
      const host = await b.domain.allocate(MIB, [...LOCAL, 'FI_REMOTE_WRITE']);
      const remote = a.domain.remote(host.descriptor());
      await a.write(new Uint8Array(64), toB, remote);
      const { memory: allocated, maps, descriptors } = held();
      const memory = cudaMemoryOf(pattern(MIB, 1));
      const { pointer } = memory;
      const dmabuf = memory.dmabuf();
      const region = await a.domain.register(dmabuf, [...LOCAL, 'FI_REMOTE_WRITE']);
      dmabuf.close();
      if (when === 'during') {
        using faults = new SoftefaFaults({ namespace });
        const frozen = faults.add('freeze');
        const writing = a.write(region, toB, remote);
        while (frozen.hits === 0) await new Promise(setImmediate);
        memory.free();
        frozen.remove();
        await writing;
      } else {
        memory.free();
        const next = when === 'replaced' ? cudaMemoryOf(pattern(MIB, 2)) : undefined;
        if (next) expect(next.pointer).toBe(pointer);
        await a.write(region, toB, remote);
        expectBytes(host.bytes, pattern(MIB, 1));
        host.bytes.set(pattern(MIB, 3));
        await b.write(host, toA, b.domain.remote(region.descriptor()));
        if (next) expectBytes(next.read(new Uint8Array(MIB)), pattern(MIB, 2));
        next?.free();
        host.bytes.fill(0);
        await a.write(region, toB, remote);
      }
      expectBytes(host.bytes, pattern(MIB, when === 'during' ? 1 : 3));
      await region.close();
      expect(held()).toMatchObject({ memory: allocated, maps, descriptors });
    },
  );
});

describe('by its pointer', () => {
  const cases = (['efa', 'efa-direct'] as const).flatMap((fabric) =>
    (['cuda', 'neuron'] as const).map((library) => [fabric, library] as const),
  );

  test.for(cases)(
    '%s: free() of memory of %s is refused until its last region is closed',
    async ([fabric, library], context) => {
      const { allocate, whyNot } = libraries[library];
      const reason = whyNot(fabric);
      context.skip(reason !== undefined, reason);
      const { a, b, toB } = await connect(fabric, 'FI_HMEM');
      const memory = allocate(MIB);
      const beyond = { type: library, pointer: memory.pointer, byteLength: 2 * MIB, device: 0 };
      const refused = a.domain.register(beyond, LOCAL);
      expect(() => memory.free()).toThrow(inUse);
      await expect(refused).rejects.toMatchObject({ name: 'FabricError' });
      const part = { type: library, pointer: memory.pointer + 4096n, byteLength: 4096, device: 0 };
      const registering = a.domain.register(memory, LOCAL);
      expect(() => memory.free()).toThrow(inUse);
      const region = await registering;
      const inner = await a.domain.register(part, LOCAL);
      await region.close();
      expect(() => memory.free()).toThrow(inUse);
      const host = await b.domain.allocate(4096, ['FI_REMOTE_WRITE']);
      const writing = a.write(inner, toB, a.domain.remote(host.descriptor()));
      const closing = inner.close();
      expect(() => memory.free()).toThrow(inUse);
      expect(memory.freed).toBe(false);
      await Promise.all([writing, closing]);
      memory.free();
      const last = allocate(MIB);
      const pending = await a.domain.register(last, LOCAL);
      a.recv(pending, null).catch(() => {});
      expect(() => last.free()).toThrow(inUse);
      await a.close();
      last.free();
      expect(last.freed).toBe(true);
    },
  );

  test('efa: free() is refused until a place is closed, which ends its offers', async (context) => {
    const reason = whyNoCuda();
    context.skip(reason !== undefined, reason);
    const { a, b, toA } = await enginePair({ provider: 'efa', hmem: true });
    const memory = allocateCuda(MIB);
    const place = await b.register(memory);
    const offer = await place.offer({ access: 'write', to: toA });
    expect(() => memory.free()).toThrow(inUse);
    const ended = expect(offer.arrived).rejects.toMatchObject({ code: 'FI_ECANCELED' });
    await place.close();
    await ended;
    memory.free();
    await Promise.all([a.close(), b.close()]);
  });

  test.for(
    cases.flatMap((each) =>
      (['before', 'during', 'replaced'] as const).map((when) => [...each, when] as const),
    ),
  )('%s: another library frees memory of %s: %s', ([fabric, library, when], context) => {
    const { whyNot, env } = libraries[library];
    const reason = whyNot(fabric);
    context.skip(reason !== undefined, reason);
    const program = fileURLToPath(new URL('../programs/device-memory-freed.mjs', import.meta.url));
    const output = execFileSync(process.execPath, [program, library, fabric, when], {
      env: {
        ...withSoftefa(),
        ...env(),
        SOFTEFA_NAMESPACE: `${namespace}-${library}-${fabric}-${when}`,
        [`FAKE_${library.toUpperCase()}_COUNTERS`]: counters,
      },
      timeout: HANG_MS,
      encoding: 'utf8',
    });
    const uses = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(uses.length).toBe(fabric === 'efa' ? 8 : 7);
    for (const use of uses) {
      expect(use).toMatchObject({
        ended: expect.stringMatching(/^(done|FI_\w+)$/),
        ...{ closed: 'done', left: [0, 0, 0], after: 'done' },
      });
    }
    expect(countersIn(counters)['held:memory']).toBe(0);
  });
});
