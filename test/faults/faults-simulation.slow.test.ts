// The short form of `npm run suite -- faults simulation`.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { outputOf } from '../support/output.js';
import { programOf } from './simulation/plan.mjs';

const main = fileURLToPath(new URL('simulation/main.mjs', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));

const simulate = (...args: string[]) =>
  outputOf(
    spawn(process.execPath, [main, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] }),
  );

test.each([
  ['tcp', '1'],
  ['shm', '2'],
  ['efa', '3'],
])(
  '%s: a random program with random faults (seed %s) moves right bytes, settles, and leaves nothing',
  async (provider, seed) => {
    const args = ['--seed', seed, '--programs', '1', '--minutes', '2', '--shrink-seconds', '1'];
    const { code, stdout, stderr } = await simulate(...args, '--provider', provider);
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/[1-9]\d* faults/);
  },
);

test('the programs that are printed for a failed one fail in the same way', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-simulation-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const drawn = programOf('1/0', ['tcp']);
  const operations = [0, 1, 2, 3].map((id) => {
    return { id, kind: 'write', from: 0, to: 1, bytes: 64, slot: id };
  });
  // No operation may fail because of a full queue. This fault makes the queue report an error when it is full.
  const full = { kind: 'full', process: 0, call: 'post', error: 'FI_EIO', chance: 1e6, seed: 1 };
  const rounds = [{ operations, faults: [full], reopens: false }];
  const seed = `shrinking-${process.pid}`;
  const file = join(folder, 'program.json');
  writeFileSync(file, JSON.stringify({ ...drawn, seed, rounds, opening: [] }));

  const first = await simulate('--program', file, '--shrink-seconds', '20');
  expect(first.code, first.stdout).toBe(1);
  expect(first.stdout).toContain(`again: npm run suite -- faults --program ${file}\n`);
  const [, shrunk] = /shrunk: npm run suite -- faults --program (\S+)\n/.exec(first.stdout)!;
  onTestFinished(() => rmSync(join(root, shrunk!)));
  const second = await simulate('--program', shrunk!, '--shrink-seconds', '0');
  const problemOf = (output: string) =>
    /\n {2}(.*FI_EIO.*)\n/.exec(output)?.[1]?.replace(/\d+/g, '');
  expect(problemOf(first.stdout), first.stdout).toBeDefined();
  expect(problemOf(second.stdout), second.stdout).toBe(problemOf(first.stdout));
  expect(second.stdout).toMatch(/: tcp [\w,]+ 1 operations/);
});
