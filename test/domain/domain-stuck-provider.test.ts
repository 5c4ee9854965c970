// A provider call that never returns only blocks the thread of its engine. The event loop continues, all
// operations settle, and another domain opens.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { runProgram } from '../support/lifecycle.js';
import { preloading } from '../support/preload.js';

const folder = mkdtempSync(join(tmpdir(), 'libfabric-stuck-'));
const library = join(folder, 'stuck-provider.so');
const source = fileURLToPath(new URL('../programs/stuck-provider.cc', import.meta.url));
execFileSync('g++', ['-std=c++17', '-shared', '-fPIC', '-o', library, source, '-ldl']);
afterAll(() => rmSync(folder, { recursive: true }));

test.concurrent.each([
  {
    how: 'close',
    what: 'close() of the endpoint rejects, and its domain closes',
    output: [
      'endpoint FI_ETIMEDOUT',
      'send FI_ECANCELED the event loop went on true',
      'domain closed true',
      'works',
    ],
  },
  {
    how: 'call',
    what: 'calls that need the engine fail, and so does close() of the domain',
    output: [
      'completionQueue FI_ETIMEDOUT',
      'allocate FI_ETIMEDOUT',
      'close FI_ETIMEDOUT',
      'works',
    ],
  },
  {
    how: 'full',
    what: 'operations fail when the ring stays full',
    output: ['recv FI_ETIMEDOUT', 'close FI_ETIMEDOUT', 'settled'],
  },
  {
    how: 'streams',
    what: 'streams and batches end with the domain',
    output: [
      'close FI_ETIMEDOUT',
      'messages done',
      'multiRecv done',
      'immediates done',
      'arrived FI_ECANCELED',
      'batch FI_ECANCELED',
      'return done',
      'batches in flight 0',
    ],
  },
  {
    how: 'neighbour',
    what: 'another domain on its thread ends with the same error',
    output: ['other FI_ETIMEDOUT FI_ECANCELED', 'close FI_ETIMEDOUT', 'works'],
  },
  { how: 'exit', what: 'process.exit() ends the process', output: [], code: 7 },
  { how: 'worker', what: 'its worker can be terminated', output: ['terminated 1', 'works'] },
])('tcp, thread driver: $what', async ({ how, output, code = 0 }) => {
  const env = {
    ...preloading(library),
    STUCK: join(folder, how),
    LIBFABRIC_CALL_TIMEOUT: '500',
  };
  const { pid: _, ...outcome } = await runProgram('stuck-provider', [how], { env });
  const stdout = output.map((line) => `${line}\n`).join('');
  expect(outcome).toEqual({ code, signal: null, stdout, stderr: '' });
});

test('shm: a worker whose provider call never returns while it closes parked endpoints does not stop other threads', async () => {
  const env = {
    ...preloading(library),
    STUCK: join(folder, 'no'),
    STUCK_CLOSE: folder,
  };
  const { pid: _, ...outcome } = await runProgram('stuck-close', [], { env });
  const stdout = 'parked 1\nworks\n';
  expect(outcome).toEqual({ code: null, signal: 'SIGKILL', stdout, stderr: '' });
});
