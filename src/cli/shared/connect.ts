import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_MILLISECONDS } from '../../base/checks.js';

const RETRY = 100; // ms

/** A TCP server cannot be reached. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  /** The system's code, such as `'ECONNREFUSED'`. Undefined if the server did not answer in time. */
  readonly code: string | undefined;

  constructor(code: string | undefined, message: string) {
    super(message);
    this.code = code;
  }
}

/** How long to try. */
export interface ConnectOptions {
  /** Milliseconds, over all attempts. */
  readonly timeout: number;
  /** Whether another attempt may succeed after this error. */
  readonly retries: (code: string | undefined) => boolean;
  /** Ends the attempts. */
  readonly signal?: AbortSignal | undefined;
}

/** Connects to a TCP server. Throws ConnectError, or the signal's reason. */
export async function connectTo(
  host: string,
  port: number,
  { timeout, retries, signal }: ConnectOptions,
): Promise<Socket> {
  const deadline = performance.now() + timeout;
  for (;;) {
    const left = Math.ceil(Math.max(1, deadline - performance.now()));
    const late = AbortSignal.timeout(Math.min(left, MAX_MILLISECONDS));
    const socket = connect({ host, port, autoSelectFamily: true });
    try {
      await once(socket, 'connect', { signal: signal ? AbortSignal.any([signal, late]) : late });
      return socket;
    } catch (error) {
      socket.destroy();
      signal?.throwIfAborted();
      if (late.aborted) throw new ConnectError(undefined, `no answer within ${timeout / 1000} s`);
      const { code, message } = firstOf(error);
      if (!retries(code) || performance.now() + RETRY >= deadline) {
        throw new ConnectError(code, message);
      }
    }
    await sleep(RETRY, undefined, { ...(signal && { signal }) });
  }
}

// A name with several addresses fails with one error for each.
function firstOf(error: unknown): NodeJS.ErrnoException {
  return error instanceof AggregateError ? error.errors[0] : (error as NodeJS.ErrnoException);
}
