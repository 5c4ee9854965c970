// The behaviour of the command line if its output cannot be written.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { main, start } from '../support/command.js';

test('a full disk is an error of one line, and the exit code is not 0', async () => {
  const child = spawn(process.execPath, [main, 'strerror', '22'], {
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
  });
  const [said, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
  expect(said).toMatch(/^The output cannot be written: ENOSPC: .+\n$/);
  expect(code).toBe(1);
});

test('errors that nobody reads do not change the exit code', async () => {
  const child = spawn(process.execPath, [main, 'report', 'no such file'], {
    stdio: ['ignore', 'pipe', openSync('/dev/full', 'w')],
  });
  expect(await once(child, 'exit')).toEqual([1, null]);
});

test('a server for a provider without endpoints ends at once', async () => {
  const { ended } = start(['rdm-pingpong', '-p', 'efa'], { FI_PROVIDER: 'tcp' });
  const { code, stderr } = await ended;
  expect(stderr).toBe(
    'FI_ENODATA: No data available, fi_getinfo (efa has no endpoint on this machine); ' +
      'npx libfabric doctor shows the reason\n',
  );
  expect(code).toBe(61);
});
