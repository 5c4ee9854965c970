// Measures how long the event loop is blocked, without the time in which threads wait for a core.

/** The longest stall that tests accept, in ms: 50 on an idle machine, and a margin for a busy one. */
export const STALL_MS = 150;

export { Stalls } from '../ends/lateness.mjs';
