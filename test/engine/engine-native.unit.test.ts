// Runs the C++ tests of test/engine/*.cc, which need no provider.
import { expect, test } from 'vitest';
import { build, startAllTests, testNames } from '../support/native-tests.js';

await build('plain', 'engine');
const names = await testNames('engine');
const running = startAllTests('plain', 'synchronous', 'engine');

test.for(names.map((name) => [name.replaceAll('_', ' '), name] as const))(
  '%s',
  async ([, name]) => {
    const { ok, output } = await running.of(name);
    expect(ok, output).toBe(true);
  },
);
