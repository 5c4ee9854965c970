/** What drives the engine: a native thread, the event loop, or the caller. */
export type DriverKind = 'thread' | 'loop' | 'manual';
