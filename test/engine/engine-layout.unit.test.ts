import { expect, test } from 'vitest';
import * as layout from '../../dist/engine/layout.js';
import { native } from '../../dist/native.js';

const theirs = native.layout();
const { OpField, CompletionField, Word } = layout as unknown as Record<
  string,
  Record<string, number>
>;

const offsets = (ours: Record<string, number> | undefined, name: string) => {
  const index = ours?.[name];
  if (index === undefined) throw new Error(`no ${name} in src/engine/layout.ts`);
  return index * (name.endsWith('64') ? 8 : 4);
};

test.each([
  ['request', 'Request32'],
  ['endpoint', 'Endpoint32'],
  ['peer', 'Peer32'],
  ['memory', 'Memory32'],
  ['remote', 'Remote32'],
  ['offset', 'Offset64'],
  ['length', 'Length64'],
  ['tag', 'Tag64'],
  ['data', 'Data64'],
  ['flags', 'Flags64'],
])('an operation has its %s where the engine reads it', (field, name) => {
  expect(offsets(OpField, name)).toBe(theirs[`operation.${field}`]);
});

test.each([
  ['request', 'Request32'],
  ['status', 'Status32'],
  ['event', 'Event32'],
  ['source', 'Source32'],
  ['length', 'Length64'],
  ['offset', 'Offset64'],
  ['tag', 'Tag64'],
  ['data', 'Data64'],
  ['flags', 'Flags64'],
  ['error', 'Error32'],
  ['queue', 'Queue32'],
])('a completion has its %s where the engine writes it', (field, name) => {
  expect(offsets(CompletionField, name)).toBe(theirs[`completion.${field}`]);
});

test.each([
  ['submissionTail', 'SubmissionTail'],
  ['submissionHead', 'SubmissionHead'],
  ['completionTail', 'CompletionTail'],
  ['completionHead', 'CompletionHead'],
  ['sleeping', 'Sleeping'],
  ['notified', 'Notified'],
  ['pending', 'Pending'],
  ['waitCount', 'WaitCount64'],
  ['waitMicroseconds', 'WaitMicroseconds64'],
  ['runVersion', 'RunVersion64'],
  ['runBatch', 'RunBatch'],
  ['runEndpoint', 'RunEndpoint'],
  ['runEntries', 'RunEntries'],
  ['runStatus', 'RunStatus'],
  ['runError', 'RunError'],
  ['runEvery', 'RunEvery'],
  ['runTimes', 'RunTimes64'],
  ['runSpan', 'RunSpan64'],
  ['runSamples', 'RunSamples64'],
  ['runRounds', 'RunRounds64'],
  ['stats', 'Stats64'],
])('the control block has its %s where both sides look', (field, name) => {
  expect(offsets(Word, name)).toBe(theirs[`control.${field}`]);
});

test('every field that the engine names was compared', () => {
  const count = (group: string) =>
    Object.keys(theirs).filter((name) => name.startsWith(`${group}.`)).length;
  expect([count('operation'), count('completion'), count('control')]).toEqual([10, 11, 21]);
});

test('fields do not overlap, and an entry holds them', () => {
  for (const group of ['operation', 'completion']) {
    const starts = Object.entries(theirs)
      .filter(([name]) => name.startsWith(`${group}.`))
      .map(([, offset]) => offset);
    expect(new Set(starts).size).toBe(starts.length);
    expect(Math.max(...starts)).toBeLessThan(layout.ENTRY_BYTES);
  }
  expect(layout.ENTRY_U32 * 4).toBe(layout.ENTRY_BYTES);
  expect(layout.ENTRY_F64 * 8).toBe(layout.ENTRY_BYTES);
  expect(layout.SEGMENT_U32 * 4).toBe(layout.SEGMENT_F64 * 8);
  expect(layout.SEGMENTS_PER_BLOCK * layout.SEGMENT_F64 * 8).toBeLessThanOrEqual(
    layout.ENTRY_BYTES,
  );
});
