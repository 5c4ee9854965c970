/**
 * Milliseconds after which something that a test waits for counts as hung: more than it takes on a
 * machine under any load, less than a test may take.
 */
export const HANG_MS = 100_000;
