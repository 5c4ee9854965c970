import { checkInteger, type Names } from '../base/checks.js';
import { invalidArgValue } from '../base/errors.js';
import {
  type CheckedOptions,
  checkCall,
  OPERATION_NAMES,
  type OperationOptions,
  refuseWait,
  type Target,
  type VectorOptions,
} from './target.js';

/** Options of RMA and atomics. */
export interface RmaOptions extends OperationOptions {
  /** Offset in the remote region, in bytes. If omitted, 0. */
  readonly offset?: number;
}

/** The names of {@link RmaOptions}. */
export const RMA_NAMES = [...OPERATION_NAMES, 'offset'] as const satisfies Names<RmaOptions>;

/** Options of a write of several buffers. */
export interface RmaVectorOptions extends RmaOptions, VectorOptions {}

/** The names of {@link RmaVectorOptions}. */
export const RMA_VECTOR_NAMES = [...RMA_NAMES, 'data'] as const satisfies Names<RmaVectorOptions>;

/** Checks that the endpoint is open, and then the options. */
export function checkRmaCall(
  target: Target,
  options: RmaOptions | undefined,
  names: readonly string[] = RMA_NAMES,
): CheckedOptions | undefined {
  const checked = checkCall(target, options, names);
  if (checked === undefined) return undefined;
  const offset = options?.offset;
  if (offset !== undefined) checked.offset = checkInteger('options.offset', offset);
  return checked;
}

// fi_inject_write(3) takes no flags and is done when it returns.
export function checkInjectCall(
  target: Target,
  options: RmaOptions | undefined,
): CheckedOptions | undefined {
  const checked = checkRmaCall(target, options);
  if (checked === undefined) return undefined;
  if (checked.flags !== 0)
    throw invalidArgValue('options.flags', 'are not supported by inject calls');
  refuseWait(checked, 'is not supported by inject calls');
  return checked;
}
