// Memory of libfabric/neuron, over the fake of the runtime, as a dmabuf of softefa's device: in a program, and in the
// benchmarks with -D neuron. The host has no access to the memory: a copy by the host would end the process.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'libfabric';
import { allocate, exportDmabuf, type NeuronMemory } from 'libfabric/neuron';
import { softefaEnvironment } from 'libfabric/softefa';
import { beforeEach, describe, expect, test } from 'vitest';
import type { BenchmarkResult } from '../../dist/cli/shared/result.js';
import { expectBytes, pattern } from '../support/bytes.js';
import { start } from '../support/command.js';
import { accessOf, whyNoDmabuf, whyNoNeuron } from '../support/device-memory.js';
import { countersIn } from '../support/fake-library.js';
import { held, loadFakeNeuron, withFakeNeuron } from '../support/fake-neuron.js';
import { runBothSides } from '../support/node-pair.js';
import { Pair } from '../support/transfer.js';

const fake = loadFakeNeuron();

const CORE = "NeuronCore 1 (runtime 2.21.41.0, fake, a test's libnrt)";
const SIZES = [64, 5000, 100_000];
const CAPS = ['FI_MSG', 'FI_RMA'] as const;
const MIB = 1 << 20;

let made = 0;

/** Runs both sides. Returns how they ended, and the counters of their runtimes. */
async function run(line: string, more: NodeJS.ProcessEnv = {}) {
  const counters = [0, 1].map(() => join(fake, `side-${made++}`));
  const { server, client } = await runBothSides(line.split(' '), (side) => ({
    ...withFakeNeuron(fake),
    FAKE_NEURON_COUNTERS: counters[side],
    ...more,
  }));
  const callsOf = (side: number) => countersIn(counters[side] as string);
  return { server: { ...server, calls: callsOf(0) }, client: { ...client, calls: callsOf(1) } };
}

const bytesOf = (memory: NeuronMemory) => memory.read(new Uint8Array(memory.byteLength));

describe('efa-direct', () => {
  beforeEach((context) => {
    const reason = whyNoDmabuf('efa-direct');
    context.skip(reason !== undefined, reason);
  });

  test('memory of Neuron is written to memory of Neuron, and read back', async () => {
    const before = held();
    const opening = { provider: 'efa', fabric: 'efa-direct', caps: CAPS } as const;
    const [a, b] = [await open(opening), await open(opening)];
    const { toB } = new Pair<'FI_EP_RDM', (typeof CAPS)[number]>(a, b);
    const [from, to] = [allocate(MIB), allocate(MIB, { device: 1 })];
    from.write(pattern(MIB, 1));
    to.write(pattern(MIB, 2));
    const near = from.dmabuf();
    const pointer = to.pointer + 4096n;
    const far = exportDmabuf({ type: 'neuron', device: 1, pointer, byteLength: MIB - 4096 });
    const source = await a.domain.register(near, ['FI_READ', 'FI_WRITE']);
    const target = await b.domain.register(far, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
    near.close();
    far.close();
    const remote = a.domain.remote(target.descriptor());
    await a.write(source.slice(100, 65_637), toB, remote, { offset: 33 });
    const expected = pattern(MIB, 2);
    expected.set(pattern(MIB, 1).subarray(100, 100 + 65_537), 4096 + 33);
    expectBytes(bytesOf(to), expected);

    await a.read(source.slice(0, 10_000), toB, remote, { offset: 5 });
    const read = pattern(MIB, 1);
    read.set(expected.subarray(4096 + 5, 4096 + 10_005));
    expectBytes(bytesOf(from), read);
    for (const region of [source, target]) expect(accessOf(region)).toBe('---p');
    await a.close();
    await b.close();
    from.free();
    to.free();
    expect(held()).toMatchObject({ memory: before.memory, maps: before.maps });
  });

  test.each(['rma-bw -v -W 16', 'rma-bw -o read -v -W 16', 'rma-pingpong -o read -v'])(
    '%s',
    async (line) => {
      const sizes = `-S l:${SIZES} -I 50`;
      const { server, client } = await run(`${line} -D neuron -R -i 1 ${sizes} --json`);
      for (const side of [server, client]) {
        expect(side).toMatchObject({ code: 0, signal: null, stderr: '' });
        expect(side.calls).toMatchObject({ nrt_get_dmabuf_fd_v2: 1, 'held:memory': 0 });
      }
      const { options, rows, warnings }: BenchmarkResult = JSON.parse(client.stdout);
      expect(options.memory).toBe(`${CORE}, FI_MR_DMABUF`);
      expect(warnings).toContain(`the memory is of ${CORE}, FI_MR_DMABUF`);
      expect(rows.map(({ size }) => size)).toEqual(SIZES);
    },
  );

  test('rdm-bw moves messages, longer than the inline ones', async () => {
    const { server, client } = await run('rdm-bw -D neuron -R -v -S l:64,8000 -I 50 --json');
    for (const side of [server, client]) {
      expect(side).toMatchObject({ code: 0, signal: null, stderr: '' });
    }
    const short = await run('rdm-bw -D neuron -R -S 8 -I 10');
    expect(short.client.stderr).toMatch(/^-D: a message from a dmabuf has more than 32 bytes/);
  });

  test.each([
    'nrt_init',
    'nrt_get_visible_nc_count',
    'nrt_tensor_allocate',
    'nrt_tensor_write',
    'nrt_get_dmabuf_fd_v2',
  ])('a runtime that fails at %s ends the command with the reason', async (name) => {
    const { client } = await run('rma-bw -D neuron -R -S 64 --timeout 3', {
      FAKE_NEURON_FAIL: `${name}:1:4`,
    });
    expect(client).toMatchObject({ code: 1, signal: null });
    expect(client.stderr).toMatch(new RegExp(`NRT_RESOURCE, ${name}; `));
  });

  test('tagged messages are refused with the alternative', async () => {
    const { client } = await run('rdm-tagged-bw -D neuron -R');
    expect(client.stderr).toMatch(
      /^-D neuron: .*efa-direct, which has no tagged messages: use rdm-bw .* with Neuron/,
    );
  });
});

describe.each(['efa', 'efa-direct'] as const)('%s: by FI_HMEM', (fabric) => {
  beforeEach((context) => {
    const reason = whyNoNeuron(fabric);
    context.skip(reason !== undefined, reason);
  });

  test.for([
    'rma-bw -v -W 16',
    'rma-bw -o read -v -W 16',
    'rma-bw -H -v -W 16',
    'rma-pingpong -o read -v',
    'rdm-bw -v',
    'rdm-pingpong -v',
    'rdm-tagged-bw -v',
  ])('%s', async (line, context) => {
    const untagged = fabric === 'efa-direct' && line.includes('tagged');
    context.skip(untagged, 'efa-direct has no tagged messages');
    const sizes = line.startsWith('rdm') ? [64, 5000, 8000] : SIZES;
    const given = `-f ${fabric} -D neuron -i 1 -S l:${sizes} -I 50 --json`;
    const { server, client } = await run(`${line} ${given}`);
    for (const side of [server, client]) {
      expect(side).toMatchObject({ code: 0, signal: null, stderr: '' });
      expect(side.calls['held:memory']).toBe(0);
    }
    const { options, rows }: BenchmarkResult = JSON.parse(client.stdout);
    expect(options.memory).toBe(`${CORE}, FI_HMEM_NEURON`);
    expect(rows.map(({ size }) => size)).toEqual(sizes);
  });

  test.each(['nrt_init', 'nrt_get_visible_nc_count', 'nrt_tensor_allocate', 'nrt_tensor_write'])(
    'a runtime that fails at %s ends the command with the reason',
    async (name) => {
      const { client } = await run(`rma-bw -f ${fabric} -D neuron -S 64 --timeout 3`, {
        FAKE_NEURON_FAIL: `${name}:1:4`,
      });
      expect(client).toMatchObject({ code: 1, signal: null });
      expect(client.stderr).toMatch(new RegExp(`NRT_RESOURCE, ${name}; `));
    },
  );
});

describe('efa, also without efa-direct', () => {
  test('a core that is not there, and hidden cores', async () => {
    const far = await run('rma-bw -D neuron -i 7');
    const last = '-i 7: the last NeuronCore of this process is 1\n';
    expect(far.client).toMatchObject({ code: 1, stderr: last });
    const hidden = await run('rma-bw -D neuron', { FAKE_NEURON_VISIBLE: '0' });
    expect(hidden.client.stderr).toMatch(/^-D neuron: NEURON_RT_VISIBLE_CORES .* hides the 2/);
  });

  test('-H without a libfabric with Neuron', async (context) => {
    context.skip(whyNoNeuron() === undefined, 'this libfabric was built with Neuron');
    const hmem = await run('rma-bw -D neuron -H');
    expect(hmem.client).toMatchObject({
      code: 61,
      stderr: expect.stringMatching(/^FI_ENODATA: .*FI_HMEM on efa/),
    });
  });

  test('no runtime', async (context) => {
    const installed = readFileSync('/etc/ld.so.cache', 'latin1').includes('libnrt.so.1');
    context.skip(installed, 'this machine has the runtime');
    const env = { ...process.env, ...softefaEnvironment() };
    const { ended } = start(['rma-bw', '-D', 'neuron'], env);
    expect(await ended).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^libnrt.so.1 .* could not be loaded.*\nInstall/),
    });
  });
});
