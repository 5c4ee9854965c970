// The arguments of `npm run test:efa`.
import { expect, test } from 'vitest';
import { parseArguments } from '../../scripts/stack/arguments.mjs';

test('a stack, a condition and the arguments of vitest are told apart', () => {
  const files = ['test/efa/efa-fork.test.ts', '-t', 'aborts'];
  const parsed = (...args: string[]) => parseArguments(args);
  expect(parsed('--stack', 'forky', 'reordering', ...files)).toEqual({
    stack: 'forky',
    condition: 'reordering',
    rest: files,
  });
  expect(parsed('0xefa0', '--stack', '/opt/libfabric')).toEqual({
    stack: '/opt/libfabric',
    condition: '0xefa0',
    rest: [],
  });
  expect(parsed(...files)).toEqual({ stack: undefined, condition: undefined, rest: files });
});

test.each([['--stack'], ['--stack', '-t'], ['reorderin'], ['constructor']])(
  '%s %s is refused with the usage',
  (...args) => {
    expect(() => parseArguments(args)).toThrow(
      'npm run test:efa -- [--stack bookworm|trixie|forky',
    );
  },
);
