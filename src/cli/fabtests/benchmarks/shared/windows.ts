import type { OperationOptions } from '../../../../endpoint/target.js';
import type { Settings } from '../../common/settings.js';

/** Operations that are posted together and awaited together. */
export interface Window {
  /** The index of its first operation in the window as fabtests count it. */
  readonly from: number;
  readonly count: number;
  /** Whether the receiver acknowledges it, in tests with acknowledgements. */
  readonly acknowledged: boolean;
  /** Whether it belongs to the warm-up. */
  readonly warmUp: boolean;
}

const MORE: OperationOptions = { flags: ['FI_MORE'] };

/**
 * Options of the sends, receives and writes of a window, by their index in it: --use-fi-more. As in
 * fabtests, the warm-up does not set FI_MORE. efa's handshake happens during the warm-up, and
 * operations that wait for it would be held back.
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
 * The windows of a bandwidth test. The clock starts after the warm-up, possibly in the middle of a
 * window. Such a window is split in two and acknowledged once. Since 2.4 (`drains`) the warm-up of
 * RMA tests ends with a separate window. At the end there is one more acknowledgement, even if no
 * operations are left.
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

  // Acknowledges the last window if it is not full, otherwise an empty one.
  function end() {
    const last = at > 0 ? windows.pop() : undefined;
    if (last) add(last.from, last.count, true);
    else add(0, 0, true);
    at = 0;
  }
}

/** The number of successive entries from `index` on that are the same batch. */
export function alikeFrom(batches: readonly unknown[], index: number): number {
  let end = index + 1;
  while (end < batches.length && batches[end] === batches[index]) end++;
  return end - index;
}
