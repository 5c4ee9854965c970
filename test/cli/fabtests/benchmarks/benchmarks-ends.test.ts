// Benchmarks over several NICs, and benchmarks that do not reach their end.
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { BenchmarkResult } from '../../../../dist/cli/shared/result.js';
import { softefaEnvironment } from '../../../../dist/softefa/index.js';
import { casesOf } from '../../../support/cases.js';
import { start } from '../../../support/command.js';
import { freePort } from '../../../support/free-port.js';
import { ownNamespace } from '../../../support/own-namespace.js';
import { runPair } from '../../../support/sides.js';

test.each(casesOf(['write', 'read'], (operation) => operation === 'write'))(
  'rma-bw over two NICs: %s',
  async (operation) => {
    const port = await freePort();
    const args = ['rma-bw', `-E=${port}`, '-p', 'efa', '-o', operation, '--nics', 'all', '--json'];
    const namespace = ownNamespace('nics');
    const { server, client } = await runPair([...args, '-S', '4096', '-I', '256'], {
      server: softefaEnvironment({ namespace, node: 1, nics: 2 }),
      client: softefaEnvironment({ namespace, node: 0, nics: 2 }),
    });
    expect(server.stderr + client.stderr).toBe('');
    for (const { stdout } of [server, client]) {
      const { rows }: BenchmarkResult = JSON.parse(stdout);
      expect(rows).toMatchObject([
        { size: 4096, iterations: 512, nics: [{ name: 'softefa_0' }, { name: 'softefa_1' }] },
      ]);
      const [row] = rows;
      const sum = row?.nics?.reduce((sum, nic) => sum + nic.megabytesPerSecond, 0) as number;
      expect(sum).toBeGreaterThanOrEqual((row?.megabytesPerSecond as number) * 0.999);
    }
  },
);

test('--nics at only one side ends both sides with an error', async () => {
  const port = await freePort();
  const args = ['rma-bw', `-E=${port}`, '-p', 'efa', '-S', '64', '-I', '64'];
  const namespace = ownNamespace('one');
  const server = start(args, softefaEnvironment({ namespace, node: 1, nics: 2 }));
  const client = start(
    [...args, '--nics', 'all', '--timeout', '2', '127.0.0.1'],
    softefaEnvironment({ namespace, node: 0, nics: 2 }),
  );
  const [serverEnd, clientEnd] = await Promise.all([server.ended, client.ended]);
  expect([clientEnd.code, serverEnd.code]).toEqual([1, 1]);
  expect(clientEnd.stderr).toContain('--nics: 2 NICs here and 1 at the peer');
});

// A very long list of sizes: the benchmark prints its first rows and then runs on.
const ENDLESS = ['-p', 'tcp', '-S', 'r:1,1,1000000', '-I', '20'];

async function startRunning() {
  const port = await freePort();
  const args = ['rdm-pingpong', `-E=${port}`, ...ENDLESS];
  const server = start(args);
  const client = start([...args, '127.0.0.1']);
  await once(client.child.stdout as Readable, 'data');
  return { server, client };
}

test('a benchmark whose peer is killed fails within seconds', async () => {
  const { server, client } = await startRunning();
  const start = performance.now();
  server.child.kill('SIGKILL');
  const { code, stderr } = await client.ended;
  expect(performance.now() - start).toBeLessThan(10_000);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^(the peer has (ended|closed)|FI_E).*\n$/);
  await server.ended;
});

test('Ctrl-C ends both sides, and each has printed its results so far', async () => {
  const { server, client } = await startRunning();
  client.child.kill('SIGINT');
  const [clientEnd, serverEnd] = await Promise.all([client.ended, server.ended]);
  expect({ ...clientEnd, stdout: '' }).toEqual({ code: 130, signal: null, stdout: '', stderr: '' });
  expect(clientEnd.stdout).toMatch(/^bytes .*\n1 +20 +40 /);
  expect(serverEnd.code).toBe(1);
  expect(serverEnd.stderr).toContain('the peer has ended: interrupted');
  expect(serverEnd.stdout).toMatch(/^bytes .*\n1 +20 +40 /);
});
