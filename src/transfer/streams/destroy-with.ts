import type { Readable, Writable } from 'node:stream';
import { onAbort, reasonOf } from '../../base/abort-signals.js';
import { isCancellation } from '../../base/cancellation.js';

/** Destroys a stream when a signal aborts, with its reason. */
export function destroyWith(stream: Readable | Writable, signal: AbortSignal): void {
  onAbort(signal, () => {
    const error = reasonOf(signal) as Error;
    // A stream that close() cancels has not failed, so nobody needs to listen.
    if (isCancellation(error)) stream.on('error', () => {});
    stream.destroy(error);
  });
}
