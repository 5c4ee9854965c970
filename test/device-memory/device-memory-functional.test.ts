// The functional tests with -D cuda, over the fake of the driver: by FI_HMEM, with a libfabric that was built with CUDA
// (`npm run suite -- hmem`), and as a dmabuf over efa-direct. The host has no access to the memory of the messages: a copy
// by the host would end the command with a signal.
import { softefaEnvironment } from 'libfabric/softefa';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Verdict } from '../../dist/cli/fabtests/functional/shared/verdict.js';
import { call } from '../support/call.js';
import { whyNoCuda, whyNoDmabuf } from '../support/device-memory.js';
import { loadFakeCuda, withFakeCuda } from '../support/fake-cuda.js';
import { runBothSides } from '../support/node-pair.js';
import { sides } from '../support/sides.js';
import { partId } from '../support/softefa.js';

loadFakeCuda({ runtime: true });

const DEVICE = ['-D', 'cuda', '--json', '--timeout', '30'];

describe('efa: FI_HMEM', () => {
  beforeEach((context) => {
    const reason = whyNoCuda('efa');
    context.skip(reason !== undefined, reason);
  });

  test.for([
    'rdm',
    'rdm -C 1 -U',
    'unexpected-msg -I 3 -v -S 16',
    'unexpected-msg -I 3 -v -S 20000 -M 3 -C',
    'rdm-tagged-peek',
    'cq-data',
    'cq-data -o writedata',
    'av-xfer',
    'recv-cancel',
    'multi-ep -v',
    'rdm-multi-client -I 20',
    'rdm-atomic -o sum -z uint64 -I 3 -v',
    'rdm-atomic -o cswap -z int32 -I 3 -v',
    'rdm-atomic -o read -z double -I 3 -v',
  ])('%s', async (line) => {
    const [command = '', ...args] = line.split(' ');
    const env = { ...withFakeCuda(), ...softefaEnvironment({ memlock: 'unlimited' }) };
    const { server, client } = await sides(command, [...args, ...DEVICE], env);
    for (const { code, signal, stdout, stderr } of [server, client]) {
      expect({ code, signal, stdout, stderr }).toMatchObject({ code: 0, signal: null, stderr: '' });
      const { passed, memory, provider } = JSON.parse(stdout) as Verdict;
      expect({ passed, provider }).toEqual({ passed: true, provider: 'efa' });
      expect(memory).toMatch(/^CUDA device 0 \(fake GPU 0 .*\), FI_HMEM_CUDA$/);
    }
  });
});

describe('efa-direct: dmabufs', () => {
  beforeEach((context) => {
    const reason = whyNoDmabuf('efa-direct');
    context.skip(reason !== undefined, reason);
  });

  const run = (line: string) =>
    runBothSides([...line.split(' '), '-R', ...DEVICE], () => withFakeCuda());

  test.for(['cq-data', 'cq-data -o writedata', 'av-xfer', 'multi-ep -v'])(
    '%s',
    async (line, context) => {
      const consumes = line.includes('writedata') && partId < 0xefa4;
      context.skip(consumes, 'writes with data consume receives on this device');
      const { server, client } = await run(line);
      for (const { code, signal, stdout, stderr } of [server, client]) {
        expect({ code, signal, stdout, stderr }).toMatchObject({
          code: 0,
          signal: null,
          stderr: '',
        });
        expect((JSON.parse(stdout) as Verdict).memory).toMatch(/fake GPU 0 .*, FI_MR_DMABUF$/);
      }
    },
  );

  test('a message that is too short, tagged messages and atomics are not offered', async () => {
    const { client: short } = await run('rdm');
    expect(JSON.parse(short.stdout)).toMatchObject({
      passed: false,
      offered: false,
      detail: expect.stringMatching(
        /^-D: a message from a dmabuf has more than 32 bytes, .* is 19$/,
      ),
    });
    const { client: tagged } = await run('unexpected-msg -I 1');
    expect(tagged.stderr).toMatch(/efa-direct, which has no tagged messages/);
    const { client: atomic } = await run('rdm-atomic -I 1');
    expect(atomic.stderr).toMatch(/offers neither FI_HMEM nor efa-direct with these operations/);
  });
});

test.each([
  ['dgram', 'datagrams cannot use memory of a device; use rdm'],
  ['cq-data -e dgram', 'datagrams cannot use memory of a device'],
  ['inject', 'the CPU copies what is injected'],
  ['multi-recv', 'as bytes of the host'],
])('%s -D cuda is refused with the reason', async (line, reason) => {
  const { status, stderr } = await call(...line.split(' '), '-D', 'cuda');
  expect(status).toBe(1);
  expect(stderr).toMatch(new RegExp(`^error: -D: .*${reason}`));
});
