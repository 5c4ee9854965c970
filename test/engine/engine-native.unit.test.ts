// What the engine is made of and needs no provider for: the tests in test/engine/*.cc, by name, and all at
// once under ThreadSanitizer, as the event loop and the engine share most of it.
import { expect, test } from 'vitest';
import { build, runUnitTests, testNames, unavailable } from '../support/native-tests.js';

await build('plain', 'engine');
const names = (await testNames('engine')).map((name) => [name.replaceAll('_', ' '), name] as const);

test.for(names)('%s', async ([, name]) => {
  const { ok, output } = await runUnitTests('plain', [name]);
  expect(ok, output).toBe(true);
});

test('what threads share has no data races', async (context) => {
  const reason = await unavailable('tsan', 'engine');
  if (reason !== undefined) context.skip(reason);
  await build('tsan', 'engine');
  const { ok, output } = await runUnitTests('tsan');
  expect(ok, output.replace(/^ok .*\n/gm, '')).toBe(true);
});
