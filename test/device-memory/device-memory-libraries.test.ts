// Memory of libfabric/rocr and the modules like it, over fakes of their libraries, as a dmabuf of softefa's device: in a
// program, and in the benchmarks with -D. The host has no access to the memory: a copy by the host would end the process.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { softefaEnvironment } from 'libfabric/softefa';
import { beforeEach, describe, expect, test } from 'vitest';
import type { BenchmarkResult } from '../../dist/cli/shared/result.js';
import { start } from '../support/command.js';
import { whyNoDmabuf } from '../support/device-memory.js';
import { writeAndReadBack } from '../support/device-transfer.js';
import { ACCELERATORS, Fake } from '../support/fake-accelerator.js';
import { countersIn } from '../support/fake-library.js';
import { runBothSides } from '../support/node-pair.js';

const SIZES = [64, 5000, 100_000];

let made = 0;

/** Runs both sides. Returns how they ended, and the counters of their libraries. */
async function run(fake: Fake, line: string, more: NodeJS.ProcessEnv = {}) {
  const counters = [0, 1].map(() => join(fake.folder, `side-${made++}`));
  const { server, client } = await runBothSides(line.split(' '), (side) =>
    fake.env({ [fake.variable('COUNTERS')]: counters[side], ...more }),
  );
  const callsOf = (side: number) => countersIn(counters[side] as string);
  return { server: { ...server, calls: callsOf(0) }, client: { ...client, calls: callsOf(1) } };
}

describe.each(ACCELERATORS.map((each) => [each.type, each] as const))('%s', (type, accelerator) => {
  const fake = new Fake(accelerator).load();
  const { calls, devices, exporting, init, vendor } = accelerator;
  const device = `${vendor} device 1 (${devices[1]?.name})`;

  describe('efa-direct', () => {
    beforeEach((context) => {
      const reason = whyNoDmabuf('efa-direct');
      context.skip(reason !== undefined, reason);
    });

    test('memory of devices is written to memory of devices, and read back', async () => {
      const before = fake.held();
      await writeAndReadBack(type, accelerator.module);
      expect(fake.held()).toMatchObject({ memory: before.memory, maps: before.maps });
    });

    test.each(['rma-bw -v -W 16', 'rma-bw -o read -v -W 16', 'rma-pingpong -o read -v'])(
      '%s',
      async (line) => {
        const sizes = `-S l:${SIZES} -I 50`;
        const { server, client } = await run(fake, `${line} -D ${type} -i 1 ${sizes} --json`);
        for (const side of [server, client]) {
          expect(side).toMatchObject({ code: 0, signal: null, stderr: '' });
          expect(side.calls).toMatchObject({ [exporting]: 1, 'held:memory': 0 });
        }
        const { options, rows, warnings }: BenchmarkResult = JSON.parse(client.stdout);
        expect(options.memory).toBe(`${device}, FI_MR_DMABUF`);
        expect(warnings).toContain(`the memory is of ${device}, FI_MR_DMABUF`);
        expect(rows.map(({ size }) => size)).toEqual(SIZES);
      },
    );

    test.each(['rdm-bw', 'rdm-pingpong'])(
      '%s moves messages, longer than the inline ones',
      async (command) => {
        const { server, client } = await run(
          fake,
          `${command} -D ${type} -R -v -S l:64,8000 -I 50 --json`,
        );
        for (const side of [server, client]) {
          expect(side).toMatchObject({ code: 0, signal: null, stderr: '' });
        }
        const short = await run(fake, `${command} -D ${type} -R -S 8 -I 10`);
        expect(short.client.stderr).toMatch(/^-D: a message from a dmabuf has more than 32 bytes/);
      },
    );

    test.each([init, ...calls.slice(0, -1), exporting])(
      'a library that fails at %s ends the command with the reason',
      async (name) => {
        // The first call may fail because there are no devices.
        const [result, code] = name === init ? accelerator.unknown : accelerator.failure;
        const { client } = await run(fake, `rma-bw -D ${type} -S 64 --timeout 3`, {
          [fake.variable('FAIL')]: `${name}:1:${result}`,
        });
        expect(client).toMatchObject({ code: 1, signal: null });
        expect(client.stderr).toMatch(new RegExp(`^${code}`));
      },
    );

    test('tagged messages are refused with the alternative', async () => {
      const { client } = await run(fake, `rdm-tagged-bw -D ${type} -R`);
      expect(client.stderr).toMatch(
        new RegExp(`^-D ${type}: .*efa-direct, which has no tagged messages: use rdm-bw`),
      );
    });
  });

  describe('efa, also without efa-direct', () => {
    test('a device that is not there, and no devices', async () => {
      const far = await run(fake, `rma-bw -D ${type} -i 7`);
      expect(far.client).toMatchObject({
        code: 1,
        stderr: `-i 7: the last ${vendor} device is ${devices.at(-1)?.index}\n`,
      });
      const none = await run(fake, `rma-bw -D ${type}`, { [fake.variable('DEVICES')]: '0' });
      expect(none.client.stderr).toMatch(new RegExp(`^-D ${type}: The .* has no `));
    });

    test('-H with a libfabric without the device', async () => {
      const hmem = await run(fake, `rma-bw -D ${type} -H`);
      expect(hmem.client).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^FI_ENODATA: .*FI_HMEM on efa/),
      });
    });

    test('no library', async (context) => {
      const { library } = accelerator;
      const installed = readFileSync('/etc/ld.so.cache', 'latin1').includes(library);
      context.skip(installed, 'this machine has the library');
      const env = { ...process.env, ...softefaEnvironment() };
      const { ended } = start(['rma-bw', '-D', type], env);
      expect(await ended).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(new RegExp(`^${library} .* could not be loaded.*\nInstall`)),
      });
    });
  });
});
