import { checkAnySignal } from '../base/abort-signals.js';
import { checkOptions, namesOf } from '../base/checks.js';
import { invalidArgType } from '../base/errors.js';

/** Options of receive() and messages() of a MessageSocket. */
export interface ReceiveOptions {
  readonly signal?: AbortSignal;
  /** Whether the bytes of a message are only valid until the next one is received, which saves a copy. Default: false. */
  readonly borrow?: boolean;
}

const OPTIONS = namesOf<ReceiveOptions>({ signal: 1, borrow: 1 });

export function checkReceiveOptions(options: ReceiveOptions): ReceiveOptions {
  const { signal, borrow = false } = checkOptions('options', options, OPTIONS);
  if (typeof borrow !== 'boolean') throw invalidArgType('options.borrow', 'a boolean', borrow);
  const checked = checkAnySignal(signal);
  return { borrow, ...(checked && { signal: checked }) };
}

/** The same bytes in memory of their own. 64 KiB: 7 us, and 16 us with slice(), which writes zeros first. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
