// What the engine is made of and needs no provider for: the tests in test/engine/*.cc, by name, and those of
// two threads under ThreadSanitizer.
import { expect, test } from 'vitest';
import { build, runUnitTests, testNames, unavailable } from '../support/native-tests.js';

await build('plain', 'engine');
const names = await testNames('engine');

test.for(names.map((name) => [name.replaceAll('_', ' '), name] as const))(
  '%s',
  async ([, name]) => {
    const { ok, output } = await runUnitTests('plain', [name]);
    expect(ok, output).toBe(true);
  },
);

test('what threads share has no data races', async (context) => {
  const reason = await unavailable('tsan', 'engine');
  if (reason !== undefined) context.skip(reason);
  await build('tsan', 'engine');
  const { ok, output } = await runUnitTests(
    'tsan',
    names.filter((name) => name.includes('thread')),
  );
  expect(ok, output.replace(/^ok .*\n/gm, '')).toBe(true);
});
