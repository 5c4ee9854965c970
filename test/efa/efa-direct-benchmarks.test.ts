// The benchmarks over efa-direct.
import { getInfo } from 'libfabric';
import { expect, test } from 'vitest';
import { softefaEnvironment } from '../../dist/softefa/index.js';
import { freePort } from '../support/free-port.js';
import { runPair } from '../support/sides.js';
import '../support/softefa.js';

const withoutReceives = getInfo({
  fabricAttr: { provName: 'efa', name: 'efa-direct' },
  caps: ['FI_MSG', 'FI_RMA'],
  mode: ['FI_CONTEXT', 'FI_CONTEXT2'],
});

test.each([['rma-bw'], ['rma-pingpong'], ['rma-tx-completion']])(
  'efa-direct: %s -o writedata needs no receives',
  async (command) => {
    const port = await freePort();
    const sizes = ['-S', 'l:64,65536', '-I', '100', '-W', '16'];
    const args = [command, '-o', 'writedata', ...sizes, `-E=${port}`];
    const { server, client } = await runPair([...args, '-p', 'efa', '-f', 'efa-direct'], {
      server: softefaEnvironment({ node: 1 }),
      client: softefaEnvironment({ node: 0 }),
    });
    if (withoutReceives.length > 0) {
      expect([server, client]).toMatchObject([
        { code: 0, stderr: '' },
        { code: 0, stderr: '' },
      ]);
    } else {
      expect(client.code).not.toBe(0);
      expect(client.stderr).toMatch(/FI_ENODATA.*without FI_RX_CQ_DATA; -f efa needs no such mode/);
    }
  },
);
