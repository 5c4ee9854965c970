/** A TCP port of 127.0.0.1 that nothing listens at, and that no other test takes meanwhile. */
export function freePort(): Promise<number>;
