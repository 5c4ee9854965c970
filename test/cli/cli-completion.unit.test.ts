// The script of `libfabric completion`, as bash runs it.
import { expect, test } from 'vitest';
import { commandLine } from '../../dist/cli/command-line.js';
import { call } from '../support/call.js';
import { run } from '../support/command.js';

/** What bash offers for the last word of a command line. */
async function completed(...words: string[]): Promise<string[]> {
  const { stdout, status } = await call('completion', 'bash');
  expect(status).toBe(0);
  const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _libfabric; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout: found, stderr } = run('bash', ['-c', `${stdout}\n${ask}`, 'bash', ...words]);
  expect(stderr).toBe('');
  return found.trim().split('\n');
}

test('every command is offered, and only those that begin with the word', async () => {
  const names = (await commandLine()).commands.map((each) => each.name());
  expect(await completed('libfabric', '')).toEqual(['help', ...names]);
  expect(await completed('libfabric', 'rma-')).toEqual(
    names.filter((name) => name.startsWith('rma-')),
  );
});

test('options are those of the command', async () => {
  expect(await completed('libfabric', 'doctor', '--req')).toEqual(['--require']);
  expect(await completed('libfabric', 'devices', '--req')).toEqual(['']);
});

test('an option with choices offers these', async () => {
  expect(await completed('libfabric', 'strerror', '-p', '')).toEqual(['efa']);
  expect(await completed('libfabric', 'net', '--driver', 'l')).toEqual(['loop']);
  expect(await completed('libfabric', 'rma-bw', '--provider', '=', 's')).toEqual(['shm']);
});
