// The arguments of `npm run suite -- efa`.
import { expect, test } from 'vitest';
import { CONDITIONS, parseArguments } from '../../scripts/stack/arguments.mjs';

test('parseArguments() separates the stack, the condition and the arguments of vitest', () => {
  const files = ['test/efa/efa-fork.test.ts', '-t', 'aborts'];
  const parsed = (...args: string[]) => parseArguments(args);
  expect(parsed('--stack', 'forky', 'reordering', ...files)).toEqual({
    stack: 'forky',
    condition: 'reordering',
    all: false,
    rest: files,
  });
  expect(parsed('0xefa0', '--stack', '/opt/libfabric')).toEqual({
    stack: '/opt/libfabric',
    condition: '0xefa0',
    all: false,
    rest: [],
  });
  expect(parsed(...files)).toEqual({ all: false, rest: files });
  expect(parsed('--fabtests', '/opt/fabtests', 'direct', '--all')).toEqual({
    fabtests: '/opt/fabtests',
    condition: 'direct',
    all: true,
    rest: [],
  });
});

test('the condition newest is the last device of softefa', () => {
  expect(Object.keys(CONDITIONS)).toEqual(expect.arrayContaining(['0xefa0', '0xefa1', '0xefa2']));
  const all: Record<string, string>[] = Object.values(CONDITIONS);
  const parts = all.map((one) => one.SOFTEFA_PART_ID ?? '');
  expect(CONDITIONS.newest.SOFTEFA_PART_ID).toBe(parts.sort().at(-1));
});

test.each([['--stack'], ['--stack', '-t'], ['--fabtests'], ['reorderin'], ['constructor']])(
  '%s %s fails with the usage',
  (...args) => {
    expect(() => parseArguments(args)).toThrow(
      'npm run suite -- efa [--stack bookworm|trixie|forky',
    );
  },
);
