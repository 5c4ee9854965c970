// The package inside a bundle, and beside one.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HANG_MS } from '../support/limits.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const addon = join(root, 'build/Release');

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libfabric-bundle-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Bundles a program that uses libfabric and libfabric/softefa. */
async function bundle(format: 'esm' | 'cjs', external: RegExp[] = []): Promise<string> {
  const file = join(folder, format === 'cjs' ? 'bundle.cjs' : 'bundle.mjs');
  const input = join(root, 'test/programs/transfer.mjs');
  const build = await rolldown({ input, external, platform: 'node', logLevel: 'silent' });
  await build.write({ file, format });
  await build.close();
  return file;
}

function run(file: string, variables: NodeJS.ProcessEnv = {}, provider = 'tcp') {
  const { LIBFABRIC_ADDON_DIR, ...env } = process.env;
  const { stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', file, provider], {
    cwd: folder,
    env: { ...env, ...variables },
    encoding: 'utf8',
    timeout: HANG_MS,
  });
  return stdout || stderr;
}

test.each(['esm', 'cjs'] as const)(
  'a bundle of format %s loads the addon from LIBFABRIC_ADDON_DIR, also from a relative one',
  async (format) => {
    const file = await bundle(format);
    expect(run(file, { LIBFABRIC_ADDON_DIR: addon })).toBe('hello, fabric\n');
    expect(run(file, { LIBFABRIC_ADDON_DIR: relative(folder, addon) })).toBe('hello, fabric\n');
  },
);

test.each([
  ['esm', 'tcp'],
  ['esm', 'efa'],
  ['cjs', 'tcp'],
  ['cjs', 'efa'],
] as const)(
  'a bundle of format %s without the addon, or without softefa, says how to bundle: %s',
  async (format, provider) => {
    const output = run(await bundle(format), {}, provider);
    expect(output).toContain('ERR_ADDON_NOT_FOUND');
    expect(output).toMatch(/make libfabric external, or set LIBFABRIC_ADDON_DIR/);
  },
);

test('a bundle with an external package needs no setting', async () => {
  const file = await bundle('esm', [/^libfabric/]);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules/libfabric'));
  expect(run(file)).toBe('hello, fabric\n');
});
