// A provider that does not return from a call, as shm when a killed process held its lock: the engine says so.
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

const STUCK = 'the provider does not return from a call; close this engine and open another one';

test('a rail is stalled, peers are lost with the reason, and the engine closes', async () => {
  const env = { ...preloading(library), STUCK: join(folder, 'stuck') };
  const { stdout, stderr } = await runProgram('transfer-stuck', [], { env });
  expect(stderr).toBe('');
  expect(stdout.trim().split('\n')).toEqual([
    `rail stalled ${STUCK}`,
    `peer nothing has come from it for some ms: ${STUCK}`,
    'rails stalled',
    'notify FI_ECONNRESET true',
    'register FI_ETIMEDOUT progress true soon true',
    'works',
  ]);
});
