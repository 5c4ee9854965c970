import { describe, expect, test } from 'vitest';
import { longCombinations, processCombinations } from '../support/cases.js';
import { runCleanly, runProgram, sharedMemoryOf } from '../support/lifecycle.js';
import { PROVIDERS } from '../support/providers.js';

describe.each(processCombinations)('$provider, $driver driver, operations in flight', (which) => {
  const program = (where: string, how: string) => [which.provider, which.driver, where, how];

  test('process.exit() ends the process with its code', async () => {
    await runCleanly('lifecycle-exit', program('main', 'exit'), { code: 3, stdout: 'busy' });
  });

  test('an uncaught exception ends the process with code 1 and is printed', async () => {
    const expected = { code: 1, stdout: 'busy', stderr: /Error: on purpose/ };
    await runCleanly('lifecycle-exit', program('main', 'throw'), expected);
  });
});

describe.each(longCombinations)('$provider, $driver driver, operations in flight', (which) => {
  const program = (where: string, how: string) => [which.provider, which.driver, where, how];

  test('an exception after an awaited completion ends the process with code 1', async () => {
    const expected = { code: 1, stdout: 'busy', stderr: /Error: on purpose/ };
    await runCleanly('lifecycle-exit', program('main', 'reject'), expected);
  });

  test('process.exit() in a worker ends the worker', async () => {
    const stdout = 'busy\nworker ended with 3';
    await runCleanly('lifecycle-exit', program('worker', 'exit'), { stdout });
  });

  test('an exception in a worker ends the worker', async () => {
    const stdout = 'busy\non purpose\nworker ended with 1';
    await runCleanly('lifecycle-exit', program('worker', 'reject'), { stdout });
  });

  test('process.exit() in the main thread ends a busy worker', async () => {
    const expected = { code: 4, stdout: expect.stringMatching(/^(busy\n)?$/) };
    const outcome = await runProgram('lifecycle-exit', program('worker', 'parent'));
    expect(outcome).toMatchObject({ ...expected, signal: null, stderr: '' });
    expect(sharedMemoryOf(outcome.pid)).toEqual([]);
  });
});

describe.each(PROVIDERS)('%s', (provider) => {
  test('SIGTERM ends a busy process', async () => {
    const outcome = await runProgram('lifecycle-exit', [provider, 'thread', 'main', 'kill']);
    expect(outcome).toMatchObject({ code: null, signal: 'SIGTERM', stdout: 'busy\n', stderr: '' });
  });
});
