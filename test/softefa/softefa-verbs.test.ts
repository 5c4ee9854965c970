// Runs the C++ tests of test/softefa/, which use softefa through libibverbs. softefa-sanitizers.slow.test.ts repeats them with
// sanitizers.
import { describe, expect, test } from 'vitest';
import { build, type Mode, runAllTests, testNames } from '../support/native-tests.js';

await build('plain');
const names = await testNames();
const running = {
  synchronous: runAllTests('plain', 'synchronous'),
  asynchronous: runAllTests('plain', 'asynchronous'),
};

describe.each<Mode>(['synchronous', 'asynchronous'])('softefa, %s', (mode) => {
  const tests = names.map((name) => [name.replaceAll('_', ' '), name] as const);
  test.for(tests)('%s', async ([, name]) => {
    const outcome = (await running[mode]).get(name);
    expect(outcome?.ok, outcome?.output ?? 'the test did not end').toBe(true);
  });
});
