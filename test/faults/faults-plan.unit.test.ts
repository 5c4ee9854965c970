import { expect, test } from 'vitest';
import { FAULTS, OPENING, PROVIDERS, programOf } from './simulation/plan.mjs';
import { PROFILES, TRANSFERS } from './simulation/profiles.mjs';
import { shrink } from './simulation/shrink.mjs';

test('a program depends only on its seed', () => {
  expect(programOf('7/3')).toEqual(programOf('7/3'));
  expect(programOf('7/3')).not.toEqual(programOf('7/4'));
  expect(JSON.parse(JSON.stringify(programOf('7/3')))).toEqual(programOf('7/3'));
});

test.each(['mixed', 'bulk'] as const)(
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
