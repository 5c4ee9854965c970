// Workers that end with memory of an accelerator and its dmabuf, over fakes of their libraries.
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import * as cuda from 'libfabric/cuda';
import * as neuron from 'libfabric/neuron';
import { describe, expect, test } from 'vitest';
import * as fakeCuda from '../support/fake-cuda.js';
import * as fakeNeuron from '../support/fake-neuron.js';
import { settle } from '../support/settle.js';

fakeCuda.loadFakeCuda();
fakeNeuron.loadFakeNeuron();

const libraries = [
  { type: 'cuda', module: cuda, held: fakeCuda.held },
  { type: 'neuron', module: neuron, held: fakeNeuron.held },
];

const program = new URL('../programs/accelerator-worker.mjs', import.meta.url);

const fileOf = (fd: number) => {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return 'none';
  }
};

describe.each(libraries)('$type', ({ type, module, held }) => {
  test.each(['ends', 'is terminated'])('a worker that %s leaves nothing', async (how) => {
    module.allocate(1).free(); // what the library itself keeps
    const { descriptors: _, ...before } = held();
    const worker = new Worker(program, { workerData: `libfabric/${type}` });
    const [fd] = await settle(once(worker, 'message'));
    expect(held().memory).toBe(before.memory + 1);
    const dmabuf = fileOf(fd);
    expect(dmabuf).toMatch(/memfd:fake/);
    const exited = once(worker, 'exit');
    if (how === 'ends') worker.postMessage('end');
    else await worker.terminate();
    await settle(exited);
    expect(held()).toMatchObject(before);
    expect(fileOf(fd)).not.toBe(dmabuf);
  });
});

test('neuron: the runtime can be closed after a worker has ended with its memory', () => {
  neuron.close();
  neuron.allocate(1).free();
});
