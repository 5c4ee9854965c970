import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { HANG_MS } from '../support/limits.js';

const program = fileURLToPath(new URL('../programs/bad-input-native.mjs', import.meta.url));

test('the functions of the addon refuse handles of the wrong type and arbitrary values', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    timeout: HANG_MS,
    killSignal: 'SIGKILL',
  });
  const { answers, survived, got } = JSON.parse(stdout);
  expect(Object.keys(answers).length).toBeGreaterThan(300);
  for (const [call, answer] of Object.entries(answers))
    expect([call, answer]).toEqual([call, 'typed']);
  expect(survived.av).toBeGreaterThan(100);
  expect(survived.cq).toBeGreaterThan(50);
  expect(survived.engine).toBeGreaterThan(50);
  expect(got).toEqual([1, 2, 3, 4]);
});
