// What the errors of wrong groups and NICs say.
import { expect, test } from 'vitest';
import { enginePair } from '../support/engines.js';

test('a peer of another engine, a peer twice and no NICs are refused with what is wrong', async () => {
  const { a, b, toA, toB } = await enginePair({ provider: 'tcp', node: '127.0.0.1' });
  const value = (message: RegExp) =>
    expect.objectContaining({
      code: 'ERR_INVALID_ARG_VALUE',
      message: expect.stringMatching(message),
    });
  expect(() => a.group([toA])).toThrow(value(/^peers\[0\] is a peer of another engine/));
  expect(() => b.group([toA, toB])).toThrow(value(/^peers\[1\] is a peer of another engine/));
  expect(() => a.group([toB, toB])).toThrow(value(/^peers has a peer twice/));
  await expect(a.allocate(4096, { nics: [] })).rejects.toEqual(value(/^options.nics is empty/));
});
