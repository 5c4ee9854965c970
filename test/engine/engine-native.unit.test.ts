// Runs the C++ tests of test/engine/*.cc, which need no provider.
import { expect, test } from 'vitest';
import { build, runAllTests, testNames } from '../support/native-tests.js';

await build('plain', 'engine');
const names = await testNames('engine');
const running = runAllTests('plain', 'synchronous', 'engine');

test.for(names.map((name) => [name.replaceAll('_', ' '), name] as const))(
  '%s',
  async ([, name]) => {
    const outcome = (await running).get(name);
    expect(outcome?.ok, outcome?.output ?? 'the test did not end').toBe(true);
  },
);
