// The package under Node's permission model: docs/tools.md.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { HANG_MS } from '../support/limits.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const [major = 0] = process.versions.node.split('.').map(Number);
const MODEL = [major < 22 ? '--experimental-permission' : '--permission', '--no-warnings'];
const FILES = `--allow-fs-read=${root}*`;

/** Runs a program that transfers bytes between two endpoints of a provider. */
function transfer(flags: readonly string[], provider: string) {
  const program = `${root}test/programs/transfer.mjs`;
  const args = [...MODEL, ...flags, program, provider];
  return spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    timeout: HANG_MS,
  });
}

test('without --allow-addons, the first call says that addons are disabled', () => {
  const { status, stderr } = transfer([FILES], 'tcp');
  expect(stderr).toContain('ERR_DLOPEN_DISABLED');
  expect(status).toBe(1);
});

test.each(['tcp', 'shm', 'efa'])('%s needs --allow-addons and its own files only', (provider) => {
  const { status, stderr } = transfer(['--allow-addons', FILES], provider);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
