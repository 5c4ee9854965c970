// The benchmarks with -D cuda, over the fake of the driver, on efa-direct of softefa's device. The host has no access to
// the memory of the transfers: a copy by the host would end the command with a signal.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { softefaEnvironment } from 'libfabric/softefa';
import { beforeEach, describe, expect, test } from 'vitest';
import type { BenchmarkResult } from '../../dist/cli/shared/result.js';
import { start } from '../support/command.js';
import { whyNoDmabuf } from '../support/device-memory.js';
import { fakeCudaFolder, withFakeCuda } from '../support/fake-cuda.js';
import { countersIn } from '../support/fake-library.js';
import { runBothSides } from '../support/node-pair.js';
import { partId } from '../support/softefa.js';

const SIZES = [64, 5000, 100_000];
const MEMORY = "CUDA device 1 (fake GPU 1 (a test's libcuda)), FI_MR_DMABUF";

let made = 0;

/** Runs both sides, each on its own node. Returns how they ended, and the counters of their drivers. */
async function run(args: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const counters = [0, 1].map(() => join(fakeCudaFolder, `side-${made++}`));
  const { server, client } = await runBothSides(args, (side) => ({
    ...withFakeCuda(),
    FAKE_CUDA_DEVICES: '2',
    FAKE_CUDA_COUNTERS: counters[side],
    ...more,
  }));
  const callsOf = (side: number) => () => countersIn(counters[side] as string);
  return { server: { ...server, calls: callsOf(0) }, client: { ...client, calls: callsOf(1) } };
}

describe('efa-direct', () => {
  beforeEach((context) => {
    const reason = whyNoDmabuf('efa-direct');
    context.skip(reason !== undefined, reason);
  });

  test.for([
    'rma-bw -v --fabtests 2.6 -W 16',
    'rma-bw -o read -v --fabtests 2.6 -W 16',
    'rma-bw -o writedata -v -W 16',
    'rma-pingpong -o read -v',
    'rma-pingpong -o writedata -v',
    'rma-tx-completion',
  ])('%s', async (line, context) => {
    const consumes = line.includes('writedata') && partId < 0xefa4;
    context.skip(consumes, 'writes with data consume receives on this device');
    const given = line.split(' ');
    const options = ['-D', 'cuda', '-i', '1', '-S', `l:${SIZES}`, '-I', '50', '--json'];
    const { server, client } = await run([...given, ...options]);
    for (const side of [server, client]) {
      expect({ ...side, stdout: '', calls: {} }).toEqual({
        ...{ code: 0, signal: null, stdout: '', stderr: '', calls: {} },
      });
      expect(side.calls()).toMatchObject({
        cuMemAlloc: 1,
        cuMemGetHandleForAddressRange: 1,
        'held:memory': 0,
        'held:contexts': 0,
        'held:pushed': 0,
      });
    }
    const result: BenchmarkResult = JSON.parse(client.stdout);
    expect(result.device).toMatchObject({ provider: 'efa', fabric: 'efa-direct', software: true });
    expect(result.options.memory).toBe(MEMORY);
    expect(result.warnings).toContain(`the memory is of ${MEMORY}`);
    expect(result.rows.map(({ size }) => size)).toEqual(SIZES);
  });

  test.each(['write', 'read'])('rma-bw -o %s over two NICs', async (operation) => {
    const line = [
      'rma-bw',
      '-o',
      operation,
      '-D',
      'cuda',
      '-S',
      'l:64,5000',
      '-I',
      '50',
      '-W',
      '16',
    ];
    const { server, client } = await run([...line, '--nics', 'all', '--json'], {
      SOFTEFA_NICS: '2',
    });
    for (const side of [server, client]) {
      expect(side).toMatchObject({ code: 0, signal: null, stderr: '' });
      const left = { 'held:memory': 0, 'held:contexts': 0, 'held:pushed': 0 };
      expect(side.calls()).toMatchObject({ cuMemAlloc: 4, ...left });
    }
    const { options, rows } = JSON.parse(client.stdout) as BenchmarkResult;
    expect(options.memory).toMatch(/fake GPU 0 .*FI_MR_DMABUF$/);
    expect(rows.map(({ nics }) => nics?.length)).toEqual([2, 2]);
  });

  test.each([['rdm-bw'], ['rdm-pingpong']])(
    '%s moves messages, longer than the inline ones',
    async (command) => {
      const { server, client } = await run([
        command,
        '-D',
        'cuda',
        '-R',
        '-v',
        '-S',
        'l:64,8000',
        '-I',
        '50',
        '--json',
      ]);
      for (const side of [server, client]) {
        expect(side).toMatchObject({ code: 0, signal: null, stderr: '' });
        expect(side.calls()).toMatchObject({ cuMemAlloc: 1, 'held:memory': 0 });
      }
      const { rows, options } = JSON.parse(client.stdout) as BenchmarkResult;
      expect(rows).toHaveLength(2);
      expect(options.memory).toMatch(/FI_MR_DMABUF/);
      const short = await run([command, '-D', 'cuda', '-S', '8', '-I', '10']);
      expect(short.client).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^-D: a message from a dmabuf has more than 32 bytes, .* is 8; .* -S l:64/,
        ),
      });
    },
  );

  test.each([
    'cuInit',
    'cuDeviceGetCount',
    'cuMemAlloc',
    'cuMemsetD8',
    'cuMemGetHandleForAddressRange',
  ])('a driver that fails at %s ends both sides with the reason', async (name) => {
    const { client } = await run(['rma-bw', '-D', 'cuda', '-S', '64', '--timeout', '3'], {
      FAKE_CUDA_FAIL: `${name}:1:999`,
    });
    expect(client).toMatchObject({ code: 1, signal: null });
    expect(client.stderr).toMatch(new RegExp(`CUDA_ERROR_UNKNOWN: .*, ${name}; .*nvidia-uvm`));
  });

  test('tagged messages are refused with the alternative', async () => {
    const { client } = await run(['rdm-tagged-bw', '-D', 'cuda']);
    expect(client.stderr).toMatch(
      /^-D cuda: .*efa-direct, which has no tagged messages: use rdm-bw/,
    );
  });
});

describe('efa, also without efa-direct', () => {
  test('a device that is not there, no devices, and -H without a libfabric with CUDA', async () => {
    const { client } = await run(['rma-bw', '-D', 'cuda', '-i', '7']);
    expect(client).toMatchObject({ code: 1, stderr: '-i 7: the last CUDA device is 1\n' });
    const none = await run(['rma-bw', '-D', 'cuda'], { FAKE_CUDA_DEVICES: '0' });
    expect(none.client.stderr).toMatch(/^-D cuda: The NVIDIA driver has no device/);
    const hmem = await run(['rma-bw', '-D', 'cuda', '-H']);
    expect(hmem.client).toMatchObject({
      code: 61,
      stderr: expect.stringMatching(/^FI_ENODATA: .*FI_HMEM on efa/),
    });
  });

  test('no driver', async (context) => {
    context.skip(hasDriver(), 'this machine has the driver');
    const env = { ...process.env, ...softefaEnvironment() };
    const { ended } = start(['rma-bw', '-D', 'cuda'], env);
    expect(await ended).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^libcuda.so.1 of the NVIDIA driver could not be loaded.*\nInstall/,
      ),
    });
  });
});

const hasDriver = () => /libcuda\.so\.1/.test(readFileSync('/etc/ld.so.cache', 'latin1'));
