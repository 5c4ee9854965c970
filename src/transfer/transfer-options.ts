// The options of a write or a read.
import { checkSignal } from '../base/abort-signals.js';
import { checkBytes, checkMilliseconds, checkOptions, namesOf, oneOf } from '../base/checks.js';
import { invalidArgValue, outOfRange } from '../base/errors.js';
import type { Access } from '../diagnostics/transfer-state.js';
import { PRIORITIES, type Priority } from './admission.js';
import { MAX_NOTE } from './packet.js';

const TIMEOUT = 30_000; // ms
const OPTIONS = namesOf<TransferOptions>({ notification: 1, signal: 1, timeout: 1, priority: 1 });

/** Options of a write or a read. */
export interface TransferOptions {
  /** At most 3072 bytes that the peer gets with the arrival. The call copies them. Only for writes. */
  readonly notification?: Uint8Array;
  /**
   * Aborts the transfer. The transfer then rejects with the signal's reason. Nothing is sent if the code that has called
   * write() or read() aborts it before its next `await`, and no byte while the transfer waits for its turn.
   */
  readonly signal?: AbortSignal;
  /** Milliseconds until the transfer fails with FI_ETIMEDOUT. If omitted, 30,000. */
  readonly timeout?: number;
  /** Waiting transfers start in this order. Rails serve running transfers of a higher priority first. */
  readonly priority?: 'high' | 'normal' | 'low';
}

/** The signal and the timeout of a transfer. */
export interface Limits {
  readonly signal: AbortSignal | undefined;
  readonly timeout: number;
}

/** Checks the signal and the timeout of a call. If `timeout` is undefined, `fallback` applies. */
export const limitsOf = (
  signal: AbortSignal | undefined,
  timeout: number | undefined,
  fallback: number,
): Limits => ({
  signal: checkSignal(signal),
  timeout: timeout === undefined ? fallback : checkMilliseconds('options.timeout', timeout),
});

const LIMITS = namesOf<Pick<TransferOptions, 'signal' | 'timeout'>>({ signal: 1, timeout: 1 });

/** Checks the names of the options that limit a repetition. */
export const checkLimits = (limits: Pick<TransferOptions, 'signal' | 'timeout'>) =>
  checkOptions('options', limits, LIMITS);

/** The checked options of a write or a read. */
export interface CheckedOptions extends ReturnType<typeof limitsOf> {
  readonly notification: Uint8Array | undefined;
  readonly priority: Priority;
}

export function checkNotification(name: string, notification: unknown): Uint8Array {
  const bytes = checkBytes(name, notification);
  if (bytes.length > MAX_NOTE) throw outOfRange(name, `at most ${MAX_NOTE} bytes`, bytes.length);
  return bytes;
}

export function checkTransferOptions(access: Access, options: TransferOptions): CheckedOptions {
  const { notification, signal, timeout, priority } = checkOptions('options', options, OPTIONS);
  if (notification !== undefined && access === 'read')
    throw invalidArgValue('options.notification', 'is for writes');
  return {
    // The bytes are copied, because the transfer may wait for its turn.
    notification:
      notification === undefined
        ? undefined
        : new Uint8Array(checkNotification('options.notification', notification)),
    ...limitsOf(signal, timeout, TIMEOUT),
    priority: (priority === undefined
      ? 'normal'
      : oneOf('options.priority', priority, PRIORITIES)) as Priority,
  };
}
