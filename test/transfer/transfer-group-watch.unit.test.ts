// The entries that a watch of a group shows.
import { expect, onTestFinished, test, vi } from 'vitest';
import { GroupWatch } from '../../dist/transfer/group-watch.js';
import { MemoryDirectory } from '../support/memory-directory.js';

test('an entry that the watch does not report ends with its lease, whenever the clock is read', async () => {
  const step = 1; // ms between two readings
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += step;
    return now;
  });
  onTestFinished(() => clock.mockRestore());
  const shown: (readonly { readonly id: string }[])[] = [];
  let ended = () => {};
  const watch = new GroupWatch(new MemoryDirectory(), 'group', step / 2, (entries) => {
    shown.push(entries);
    if (entries.length === 0) ended();
  });
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  await new Promise<void>((resolve) => {
    ended = resolve;
    void watch.run(ending.signal);
  });
  await new Promise<void>((resolve) => {
    ended = resolve;
    watch.add([{ id: 'member', address: 'address' }]);
  });
  expect(shown.map(({ length }) => length)).toEqual([0, 1, 0]);
});
