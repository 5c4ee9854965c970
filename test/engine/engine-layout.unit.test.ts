import { expect, test } from 'vitest';
import * as layout from '../../dist/contract/layout.js';
import { native } from '../../dist/contract/native.js';

const nativeLayout = native.layout();
const { OpField, CompletionField, Word } = layout as unknown as Record<
  string,
  Record<string, number>
>;

const offsets = (fields: Record<string, number> | undefined, name: string) => {
  const index = fields?.[name];
  if (index === undefined) throw new Error(`no ${name} in src/contract/layout.ts`);
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
])(
  'src/contract/layout.ts and the addon agree on the offset of %s in an operation',
  (field, name) => {
    expect(offsets(OpField, name)).toBe(nativeLayout[`operation.${field}`]);
  },
);

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
])(
  'src/contract/layout.ts and the addon agree on the offset of %s in a completion',
  (field, name) => {
    expect(offsets(CompletionField, name)).toBe(nativeLayout[`completion.${field}`]);
  },
);

test.each([
  ['submissionTail', 'SubmissionTail'],
  ['submissionHead', 'SubmissionHead'],
  ['completionTail', 'CompletionTail'],
  ['completionHead', 'CompletionHead'],
  ['sleeping', 'Sleeping'],
  ['notified', 'Notified'],
  ['pending', 'Pending'],
  ['unref', 'Unref'],
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
])(
  'src/contract/layout.ts and the addon agree on the offset of %s in the control block',
  (field, name) => {
    expect(offsets(Word, name)).toBe(nativeLayout[`control.${field}`]);
  },
);

test('these tests compare every field of the addon', () => {
  const count = (group: string) =>
    Object.keys(nativeLayout).filter((name) => name.startsWith(`${group}.`)).length;
  expect([count('operation'), count('completion'), count('control')]).toEqual([10, 11, 22]);
});

test('fields do not overlap and fit into an entry', () => {
  for (const group of ['operation', 'completion']) {
    const starts = Object.entries(nativeLayout)
      .filter(([name]) => name.startsWith(`${group}.`))
      .map(([, offset]) => offset);
    expect(new Set(starts).size).toBe(starts.length);
    expect(Math.max(...starts)).toBeLessThan(layout.Entry.Bytes);
  }
  expect(layout.Entry.U32 * 4).toBe(layout.Entry.Bytes);
  expect(layout.Entry.F64 * 8).toBe(layout.Entry.Bytes);
  expect(layout.Segment.U32 * 4).toBe(layout.Segment.F64 * 8);
  expect(layout.Segment.PerBlock * layout.Segment.F64 * 8).toBeLessThanOrEqual(layout.Entry.Bytes);
});
