import { expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import {
  argumentsFor,
  commandOf,
  optionsOf,
  programAt,
  programsOf,
} from './simulation/options.mjs';
import { FAULTS, OPENING, PROVIDERS, programOf } from './simulation/plan.mjs';
import { PROFILES, TRANSFERS } from './simulation/profiles.mjs';
import { kindOf, shrink } from './simulation/shrink.mjs';

test('a program depends only on its seed', () => {
  expect(programOf('7/3')).toEqual(programOf('7/3'));
  expect(programOf('7/3')).not.toEqual(programOf('7/4'));
  expect(JSON.parse(JSON.stringify(programOf('7/3')))).toEqual(programOf('7/3'));
});

test.each(casesOf(['mixed', 'bulk'] as const, (profile) => profile === 'mixed'))(
  '300 programs of %s have every kind of operation, fault, driver and provider',
  (profile) => {
    const programs = Array.from({ length: 300 }, (_, i) => programOf(`1/${i}`, PROVIDERS, profile));
    const rounds = programs.flatMap((program) => program.rounds);
    const kindsOf = (name: 'operations' | 'faults') =>
      new Set(rounds.flatMap((round) => round[name].map(({ kind }) => kind)));
    expect(kindsOf('operations')).toEqual(new Set(Object.keys(PROFILES[profile].operations)));
    expect(kindsOf('faults')).toEqual(new Set(Object.keys(FAULTS)));
    const opening = new Set(programs.flatMap((program) => program.opening.map(({ kind }) => kind)));
    expect(opening).toEqual(new Set(Object.keys(OPENING)));
    expect(new Set(programs.map(({ provider }) => provider)).size).toBe(3);
    const drivers = new Set(programs.flatMap((program) => program.drivers));
    expect(drivers).toEqual(new Set(PROFILES[profile].drivers));
  },
);

test('no operation of a round writes where another one writes or reads', () => {
  for (let i = 0; i < 100; i++) {
    for (const { operations } of programOf(`2/${i}`).rounds) {
      const placesOf = (...kinds: string[]) =>
        operations.filter((o) => kinds.includes(o.kind)).map(({ to, slot }) => `${to}/${slot}`);
      const written = placesOf('write', 'batch');
      expect(new Set(written).size).toBe(written.length);
      expect(placesOf('read').filter((place) => written.includes(place))).toEqual([]);
    }
  }
});

test('no transfer of a round writes where another one writes', () => {
  for (let i = 0; i < 100; i++) {
    for (const { operations } of programOf(`2/${i}`, PROVIDERS, 'bulk').rounds) {
      const written = operations.flatMap(({ kind, from, to, at, bytes }) => {
        if (!(kind in TRANSFERS)) return [];
        const process = TRANSFERS[kind as keyof typeof TRANSFERS].access === 'write' ? to : from;
        return [{ process, begin: at!, end: at! + bytes }];
      });
      for (const [k, one] of written.entries()) {
        const others = written.slice(k + 1).filter(({ process }) => process === one.process);
        expect(others.filter(({ begin, end }) => begin < one.end && one.begin < end)).toEqual([]);
      }
    }
  }
});

test('a failing program shrinks to the parts that it needs to fail', async () => {
  const program = programOf('7/3');
  const { id } = program.rounds.at(-1)!.operations[2]!;
  const has = ({ rounds }: typeof program) =>
    rounds.some(({ operations }) => operations.some((operation) => operation.id === id));
  const smallest = await shrink(program, async (candidate) => has(candidate), Infinity);
  expect(smallest.rounds).toHaveLength(1);
  expect(smallest.rounds[0]!.operations).toHaveLength(1);
  expect(smallest.rounds[0]!.faults).toEqual([]);
});

// Split as by a shell.
const wordsOf = (command: string) =>
  [...command.matchAll(/'((?:[^']|'\\'')*)'|\S+/g)].map(([word, quoted]) =>
    quoted === undefined ? word : quoted.replaceAll("'\\''", "'"),
  );

test.each([
  [[]],
  [['--provider', 'efa']],
  [['--provider', 'shm', '--provider', 'tcp', '--profile', 'bulk']],
  [['--provider', 'efa', '--provider', 'shm', '--provider', 'tcp', '--minutes', '1']],
  [['--programs', '40', '--verbose']],
])('the command that is printed for a failed program runs this program: %j', (more) => {
  for (const seed of ['hostile-kappa', '7', "it's a seed"]) {
    const options = optionsOf(['--seed', seed, ...more]);
    for (const numbers of [[0], [15], [3, 9, 15]]) {
      const failed = numbers.map((number) => [number, programAt(options, number)]);
      const command = wordsOf(commandOf(argumentsFor(options, numbers)));
      expect(command.slice(0, 5)).toEqual(['npm', 'run', 'suite', '--', 'faults']);
      expect([...programsOf(optionsOf(command.slice(5)))]).toEqual(failed);
    }
  }
});

test('programs are drawn in the order of their numbers, as often as requested', () => {
  const options = optionsOf(['--seed', '7', '--programs', '3']);
  const expected = [0, 1, 2].map((number) => [number, programAt(options, number)]);
  expect([...programsOf(options)]).toEqual(expected);
});

test('a program that fails in another way is not a smaller form of the one that failed', async () => {
  const problems = ({ rounds }: ReturnType<typeof programOf>) =>
    rounds.length > 1 ? ['slot 3 has other bytes\n  at a'] : ['process 0 hangs in go'];
  const program = programOf('7/3');
  expect(program.rounds.length).toBeGreaterThan(1);
  const kind = kindOf(problems(program));
  expect(kindOf(['slot 12 has other bytes\n  at b'])).toBe(kind);
  const fails = async (candidate: typeof program) => kindOf(problems(candidate)) === kind;
  expect((await shrink(program, fails, Infinity)).rounds).toHaveLength(2);
});
