// The options of a write or a read.
import { checkBytes, checkOptions, namesOf, oneOf } from '../base/checks.js';
import { invalidArgValue, outOfRange } from '../base/errors.js';
import type { Access } from '../diagnostics/transfer-state.js';
import { PRIORITIES, type Priority } from './admission.js';
import { MAX_NOTE } from './packet.js';
import { limitsOf, type TransferOptions } from './transfer.js';

const TIMEOUT = 30_000; // ms
const OPTIONS = namesOf<TransferOptions>({ notification: 1, signal: 1, timeout: 1, priority: 1 });

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
