import type { OperationOptions } from '../../../../endpoint/target.js';
import type { Settings } from '../../common/settings.js';

/** Operations that are started together, and waited for together. */
export interface Window {
  /** Its first operation's place in the window that fabtests count. */
  readonly from: number;
  readonly count: number;
  /** The receiver acknowledges it, where there are acknowledgements. */
  readonly acknowledged: boolean;
  /** It belongs to the warm-up. */
  readonly warmUp: boolean;
}

const MORE: OperationOptions = { flags: ['FI_MORE'] };

/**
 * Options of the sends, receives and writes of a window, by their index in it: --use-fi-more. As with
 * fabtests the warm-up has none, in which the sides of efa meet: what has to wait for that would be
 * kept back.
 */
export function moreIn(window: Window, { fiMore }: Pick<Settings, 'fiMore'>) {
  const all = fiMore && !window.warmUp;
  return (index: number): OperationOptions | undefined =>
    all && index < window.count - 1 ? MORE : undefined;
}

export interface Windows {
  readonly windows: readonly Window[];
  /** The window at which the clock starts. */
  readonly clockAt: number;
}

/**
 * The windows of a bandwidth test. The clock starts behind the warm-up, in the middle of a window:
 * that window comes in two, acknowledged once. Since 2.4 (`drains`) RMA tests let the warm-up end
 * with a window of its own. In the end there is one more acknowledgement, even with nothing before.
 */
export function windowsOf(
  size: number,
  warmUp: number,
  iterations: number,
  drains: boolean,
): Windows {
  const windows: Window[] = [];
  const add = (from: number, count: number, acknowledged: boolean) =>
    windows.push({ from, count, acknowledged, warmUp: clockAt < 0 });
  let clockAt = -1;
  let at = 0;
  const fill = (operations: number) => {
    for (let left = operations; left > 0; ) {
      const count = Math.min(size - at, left);
      add(at, count, at + count === size);
      at = (at + count) % size;
      left -= count;
    }
  };
  fill(warmUp);
  if (drains) end();
  clockAt = windows.length;
  fill(iterations);
  end();
  return { windows, clockAt };

  // The last window, if it is not full, or nothing: acknowledged.
  function end() {
    const last = at > 0 ? windows.pop() : undefined;
    if (last) add(last.from, last.count, true);
    else add(0, 0, true);
    at = 0;
  }
}

/** How many from `index` on are the same batch. */
export function alikeFrom(batches: readonly unknown[], index: number): number {
  let end = index + 1;
  while (end < batches.length && batches[end] === batches[index]) end++;
  return end - index;
}
