// Runs every `sh` block of the documents, with this machine as all hosts.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { softefaEnvironment } from 'libfabric/softefa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { blocksIn } from '../support/documents.js';
import { HANG_MS } from '../support/limits.js';
import { ownNamespace } from '../support/own-namespace.js';

const npx = fileURLToPath(new URL('../support/documents-npx.mjs', import.meta.url));
const blocks = blocksIn('sh').filter(({ notRun }) => notRun === undefined);
const inReadme = ({ place }: { place: string }) => place.startsWith('README');

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'libfabric-documents-'));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'npx'), `#!/bin/sh\nexec '${process.execPath}' '${npx}' "$@"\n`);
  chmodSync(join(bin, 'npx'), 0o755);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(casesOf(blocks, inReadme))('the commands at $place succeed', async ({ code }) => {
  const script = code.replace(/\bHOST\b|\b10\.0\.0\.\d+\b/g, '127.0.0.1');
  const options = {
    cwd: folder,
    timeout: HANG_MS,
    env: {
      ...process.env,
      ...softefaEnvironment({
        namespace: ownNamespace('commands'),
        nics: 2,
        memlock: 'unlimited',
      }),
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    },
  };
  // Each line runs separately, so that the output names the failed one.
  const wait = 'wait $(jobs -p)';
  const run = promisify(execFile)(
    'bash',
    ['-euxo', 'pipefail', '-c', `${script}\n${wait}`],
    options,
  );
  const outcome = await run.catch((error: Error & { stdout: string; stderr: string }) => error);
  expect(outcome, `${outcome.stdout}\n${outcome.stderr}`).not.toBeInstanceOf(Error);
});

test('there are commands, and each that is not run has a reason', () => {
  expect(blocks.length).toBeGreaterThan(5);
  for (const { notRun } of blocksIn('sh')) expect(notRun ?? 'run').toMatch(/\w/);
});
