// The behaviour of the command line if its output cannot be written.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { main, start } from '../support/command.js';

test.each(['strerror 22', '--help', 'help info', 'rma-bw --help', '--version'])(
  '%s: a full disk is an error of one line, and the exit code is not 0',
  async (args) => {
    const child = spawn(process.execPath, [main, ...args.split(' ')], {
      stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    });
    const [said, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
    expect(said).toMatch(/^The output cannot be written: ENOSPC: .+\n$/);
    expect(code).toBe(1);
  },
);

test('a help that is longer than a pipe arrives whole', async () => {
  const { stdout, code } = await start(['--help']).ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Usage: libfabric /);
  expect(stdout).toMatch(/as early as the flags allow\n$/); // the last command
});

test('a reader that closes the pipe before the help is no error', async () => {
  const child = spawn(process.execPath, [main, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect({ said, code }).toEqual({ said: '', code: 0 });
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
