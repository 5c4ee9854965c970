// Runs the C++ tests of test/softefa/, which use softefa through libibverbs. softefa-sanitizers.slow.test.ts repeats them with
// sanitizers.
import { describe, expect, test } from 'vitest';
import { build, type Mode, startAllTests, testNames } from '../support/native-tests.js';

await build('plain');
const names = await testNames();
const running = {
  synchronous: startAllTests('plain', 'synchronous'),
  asynchronous: startAllTests('plain', 'asynchronous'),
};

describe.each<Mode>(['synchronous', 'asynchronous'])('softefa, %s', (mode) => {
  const tests = names.map((name) => [name.replaceAll('_', ' '), name] as const);
  test.for(tests)('%s', async ([, name]) => {
    const { ok, output } = await running[mode].of(name);
    expect(ok, output).toBe(true);
  });
});
