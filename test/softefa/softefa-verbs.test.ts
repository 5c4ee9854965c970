// Runs the C++ tests of test/softefa/, which use softefa through libibverbs. softefa-sanitizers.slow.test.ts repeats them with
// sanitizers.
import { describe, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { build, type Mode, startAllTests, testNames } from '../support/native-tests.js';

await build('plain');
const names = await testNames();
const modes = casesOf<Mode>(['synchronous', 'asynchronous'], (mode) => mode === 'asynchronous');

describe.each(modes)('softefa, %s', (mode) => {
  const running = startAllTests('plain', mode);
  const tests = names.map((name) => [name.replaceAll('_', ' '), name] as const);
  test.for(tests)('%s', async ([, name]) => {
    const { ok, output } = await running.of(name);
    expect(ok, output).toBe(true);
  });
});
