/**
 * Milliseconds after which an awaited event counts as hung: more than it takes on a machine under any load,
 * less than the time limit of a test.
 */
export const HANG_MS = 100_000;
