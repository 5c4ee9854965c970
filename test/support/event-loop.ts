// Measures how long the event loop is blocked, without the time in which threads wait for a core, and blocks it.

/** The longest stall that tests accept, in ms: 50 on an idle machine, and a margin for a busy one. */
export const STALL_MS = 150;

export { Stalls } from '../ends/lateness.mjs';

/** Blocks the event loop for so many ms. Other threads run on. */
export function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
