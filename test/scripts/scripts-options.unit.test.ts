// Wrong options of suites: one line names the error and the valid options, and nothing runs.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { amount, count, oneOf, readOptions } from '../../scripts/options.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

function run(line: string) {
  const args = line.split(' ');
  return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
}

describe('readOptions()', () => {
  const OPTIONS = {
    rounds: { value: 'N', read: count(1), default: 5 },
    minutes: { value: 'N', read: amount },
    kind: { value: 'NAME', read: oneOf(['a', 'b']), multiple: true, default: ['a'] },
    quick: {},
  };
  const read = (line: string, positionals = false) =>
    readOptions(OPTIONS, line.split(' ').filter(Boolean), positionals);

  test('reads values, and has the defaults of the others', () => {
    const defaults = { rounds: 5, minutes: undefined, kind: ['a'], quick: false };
    expect(read('').values).toEqual(defaults);
    expect(read('--rounds 7 --minutes=0.5 --kind b --kind a --quick').values).toEqual({
      ...{ rounds: 7, minutes: 0.5, kind: ['b', 'a'], quick: true },
    });
    expect(read('x --quick y', true).positionals).toEqual(['x', 'y']);
  });

  test.each([
    ['--round 7', /^Unknown option '--round'; the options are --rounds N, --minutes N, --kind /],
    ['--help', /^Unknown option '--help'; the options are /],
    ['x', /^Unexpected argument 'x'; the options are /],
    ['--rounds', /^Option '--rounds <value>' argument missing; the options are /],
    ['--quick=1', /^Option '--quick' does not take an argument; the options are /],
    ['--rounds 0', /^--rounds is '0', not a whole number from 1 on$/],
    ['--rounds 1e3', /^--rounds is '1e3', not a whole number from 1 on$/],
    ['--minutes x', /^--minutes is 'x', not a number from 0 on$/],
    ['--kind a --kind c', /^--kind is 'c', not one of a, b$/],
  ])('refuses %s in one line', (line, message) => {
    expect(() => read(line)).toThrow(message);
    expect(() => read(line)).toThrow(/^.*$/);
  });
});

test.each([
  [
    'test/ends/main.mjs --rond 5',
    /^Unknown option '--rond'; the options are --rounds N, .*--verbose\n$/,
  ],
  ['test/ends/main.mjs --rounds x', /^--rounds is 'x', not a whole number from 1 on\n$/],
  ['test/ends/main.mjs --provider foo', /^--provider is 'foo', not one of shm, tcp, .*\n$/],
  ['test/soak/main.mjs --minutes x', /^--minutes is 'x', not a number from 0 on\n$/],
  [
    'test/faults/calls/main.mjs --quik',
    /^Unknown option '--quik'; the options are --program NAME.*\n$/,
  ],
  [
    'test/faults/calls/main.mjs --driver foo',
    /^--driver is 'foo', not one of thread, loop, manual\n$/,
  ],
  ['test/faults/simulation/main.mjs --profile x', /^--profile is 'x', not one of mixed, bulk\n$/],
  ['test/matrix/main.mjs nope', /^there is no system with 'nope' in its name; there are: .*\n$/],
])('%s ends with one line and status 2', (line, message) => {
  const { status, stdout, stderr } = run(line);
  expect(stderr).toMatch(message);
  expect(stderr.trimEnd()).not.toContain('\n');
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
});

test.each([
  ['nope', /^there is no suite nope, only all, .*\n$/],
  ['valgrind x', /^the suite valgrind takes no arguments, but there is x\n$/],
  ['faults nope', /^there is no part nope, only calls, verbs, simulation\n$/],
  ['fuzz --seconds x', /^--seconds is 'x', not a number from 0 on\n$/],
  ['engine --sanitizer x', /^--sanitizer is 'x', not one of thread, address\n$/],
  ['lint --nope', /^Unknown option '--nope'; the options are --without-analyzer\n$/],
  ['node 21', /^there is no Node\.js 21 here, only 20, 22, 24, 26\n$/],
])('npm run suite -- %s fails with one line', (line, message) => {
  const { status, stdout, stderr } = run(`scripts/suite.mjs ${line}`);
  expect(stderr).toMatch(message);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '0 passed, 1 failed\n' });
});

test.each(['ends --help', 'soak -h', 'slow --help'])(
  'npm run suite -- %s shows its line',
  (line) => {
    const { status, stdout, stderr } = run(`scripts/suite.mjs ${line}`);
    expect(stdout).toMatch(new RegExp(`^npm run suite -- ${line.split(' ')[0]} .*\n$`));
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  },
);
