// How long the event loop stands still, without what the kernel left this thread waiting for a core.

/** What the longest of its stalls may be, in ms: 50 on a quiet machine, and room for a busy one. */
export const STALL_MS = 150;

export { Stalls } from '../ends/lateness.mjs';
