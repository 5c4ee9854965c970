import { expect, test } from 'vitest';
import { FAULTS, OPERATIONS, programOf } from './simulation/plan.mjs';
import { shrink } from './simulation/shrink.mjs';

test('a program depends only on its seed', () => {
  expect(programOf('7/3')).toEqual(programOf('7/3'));
  expect(programOf('7/3')).not.toEqual(programOf('7/4'));
  expect(JSON.parse(JSON.stringify(programOf('7/3')))).toEqual(programOf('7/3'));
});

test('100 programs have every kind of operation, fault, driver and provider', () => {
  const programs = Array.from({ length: 100 }, (_, i) => programOf(`1/${i}`));
  const rounds = programs.flatMap((program) => program.rounds);
  const kindsOf = (name: 'operations' | 'faults') =>
    new Set(rounds.flatMap((round) => round[name].map(({ kind }) => kind)));
  expect(kindsOf('operations')).toEqual(new Set(Object.keys(OPERATIONS)));
  expect(kindsOf('faults')).toEqual(new Set(Object.keys(FAULTS)));
  expect(new Set(programs.map(({ provider }) => provider)).size).toBe(3);
  expect(new Set(programs.flatMap(({ drivers }) => drivers)).size).toBe(3);
});

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
