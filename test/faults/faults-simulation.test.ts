// The short form of `npm run suite -- faults simulation`.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { tier } from '../support/cases.js';
import { outputOf } from '../support/output.js';

const PROGRAMS = tier === 'quick' ? '1' : '2';
const main = fileURLToPath(new URL('simulation/main.mjs', import.meta.url));

const all = [
  ['tcp', '1'],
  ['shm', '2'],
  ['efa', '3'],
] as const;

test.each(tier === 'quick' ? all.slice(-1) : all)(
  `%s: ${PROGRAMS} random programs with random faults (seed %s) move right bytes, settle, and leave nothing`,
  async (provider, seed) => {
    const args = [
      '--seed',
      seed,
      '--programs',
      PROGRAMS,
      '--minutes',
      '2',
      '--shrink-seconds',
      '1',
    ];
    const child = spawn(process.execPath, [main, ...args, '--provider', provider], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, stdout, stderr } = await outputOf(child);
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/[1-9]\d* faults/);
  },
);
