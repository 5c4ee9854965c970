import { publishError } from './diagnostics.js';
import { describeErrno, type FabricErrorCode } from './error-codes.js';
import { hintOfCall } from './error-hints.js';
import type { CompletionFlag } from './flags.js';
import type { Peer } from './peer.js';
import { endOf } from './released.js';

const brand = Symbol.for('libfabric.FabricError');

// biome-ignore lint/complexity/noBannedTypes: what Error.captureStackTrace takes
type AnyFunction = Function;

/** What a {@link FabricError} may carry beside its number. */
export interface FabricErrorDetails {
  /** The provider's own error number, from fi_cq_readerr(3). */
  provErrno?: number | undefined;
  /** The provider's name for it. */
  provCode?: string | undefined;
  /** The provider's words for it. */
  provMessage?: string | undefined;
  /** Whether the cause may pass by itself. */
  retryable?: boolean | undefined;
  /** What usually helps; it ends the message. */
  hint?: string | undefined;
  /** Bytes of the message that the buffer took: fi_cq(3), of an operation that completed in error. */
  len?: number | undefined;
  /** Bytes of the message that did not fit. */
  olen?: number | undefined;
  /** The tag of a tagged message. */
  tag?: bigint | undefined;
  /** Remote CQ data that came with it. */
  data?: bigint | undefined;
  /** What the operation was. */
  flags?: readonly CompletionFlag[] | undefined;
  /** What the provider adds, as it is. */
  errData?: Uint8Array | undefined;
  /** Whom the operation names: to whom it went, or from whom alone it was to receive. */
  peer?: Peer | undefined;
  /** Its index in the batch that it belongs to. */
  index?: number | undefined;
  /** More about this very failure, for the message; the provider's words when left out. */
  detail?: string | undefined;
  cause?: unknown;
}

/**
 * A libfabric call that failed, or an operation that completed in error.
 *
 * The message reads as Node's own do: `FI_ETRUNC: Truncation error, fi_cq_readerr`, and ends with what
 * the provider says in parentheses and with the hint, where there are any.
 *
 * Calls that are made wrongly do not throw it: they throw a `TypeError`, a `RangeError` or an
 * `Error` with an `ERR_*` code. See fi_errno(3).
 */
export class FabricError extends Error {
  /** fi_errno's name for {@link errno}; the system's (`'EEXIST'`) where libfabric has none. */
  readonly code: FabricErrorCode | (string & {});
  /** The positive error number. */
  readonly errno: number;
  /** The libfabric call that reported the error: `'fi_cq_readerr'`. */
  readonly syscall: string;
  /** The provider's own error number. */
  declare readonly provErrno?: number;
  /**
   * The provider's name for {@link provErrno}: `'FI_EFA_ERR_RMA_ADDR'`. Known for efa; see
   * efaStatus().
   */
  declare readonly provCode?: string;
  /** The provider's words for {@link provErrno}. */
  declare readonly provMessage?: string;
  /**
   * Whether the cause may pass by itself, so that the operation is worth trying again: known where
   * {@link provCode} is.
   */
  declare readonly retryable?: boolean;
  /** What is known to cause this, and what usually helps. */
  declare readonly hint?: string;
  /** Of av.insertMany(): the peers of the addresses before it, which stay inserted. */
  declare readonly inserted?: readonly Peer[];
  /**
   * Of an operation of a batch: its index, as the batch's call returned it. The batch goes on; this is
   * the first that failed. Of av.insertMany(): which address was refused.
   */
  declare readonly index?: number;
  /**
   * Whom the operation names: the target of a send, of RMA or of an atomic, the source of a receive
   * that takes from one peer only. Of whom another failed receive came from, no provider tells.
   */
  declare readonly peer?: Peer;
  /**
   * Bytes that arrived, of an operation that completed in error. This and the following are what
   * fi_cq_readerr(3) tells besides the error; which provider tells what:
   * [errors](../docs/troubleshooting.md#what-a-failed-operation-tells).
   */
  declare readonly len?: number;
  /**
   * Bytes that did not fit: after FI_ETRUNC the message had `len + olen` bytes. Missing where the
   * provider does not tell.
   */
  declare readonly olen?: number;
  /** The tag of a tagged message. */
  declare readonly tag?: bigint;
  /** The remote CQ data of the message, where it brought any but 0. */
  declare readonly data?: bigint;
  /** What the operation was: `['FI_RECV', 'FI_MSG']`. */
  declare readonly flags?: readonly CompletionFlag[];
  /**
   * What the provider adds, in a form of its own; with FI_EADDRNOTAVAIL the address of the sender, for
   * `av.insert()`.
   */
  declare readonly errData?: Uint8Array;

  /** @param trim the stack starts at the caller of this function. */
  constructor(
    errno: number,
    syscall: string,
    details: FabricErrorDetails = {},
    trim: AnyFunction = new.target,
  ) {
    const { code, text } = describeErrno(errno);
    const { provErrno, provCode, provMessage, retryable, hint, cause } = details;
    const detail = details.detail || provMessage;
    super(
      `${code}: ${text}, ${syscall}${detail ? ` (${detail})` : ''}${hint ? `; ${hint}` : ''}`,
      cause === undefined ? undefined : { cause },
    );
    this.code = code;
    this.errno = errno;
    this.syscall = syscall;
    if (provErrno !== undefined) this.provErrno = provErrno;
    if (provCode !== undefined) this.provCode = provCode;
    if (provMessage !== undefined) this.provMessage = provMessage;
    if (retryable !== undefined) this.retryable = retryable;
    if (hint !== undefined) this.hint = hint;
    for (const name of OF_COMPLETIONS) {
      if (details[name] !== undefined) Object.assign(this, { [name]: details[name] });
    }
    Error.captureStackTrace(this, trim);
    publishError(this);
  }

  /**
   * Of an operation whose `timeout` was over: resolves when its memory is free again. See released().
   */
  get released(): Promise<void> | undefined {
    return endOf(this);
  }

  /** Whether this is a FabricError of this or any other copy of the package. */
  static is(value: unknown): value is FabricError {
    return typeof value === 'object' && value !== null && brand in value;
  }
}

const OF_COMPLETIONS = [
  'index',
  'peer',
  'len',
  'olen',
  'tag',
  'data',
  'flags',
  'errData',
] as const satisfies readonly (keyof FabricErrorDetails)[];

Object.defineProperty(FabricError.prototype, 'name', { value: 'FabricError', configurable: true });
Object.defineProperty(FabricError.prototype, brand, { value: true });

/** What the addon makes its errors with. `provider` is '' where the call concerns none. */
export function makeFabricError(
  errno: number,
  syscall: string,
  text: string,
  provider = '',
): FabricError {
  const hint = hintOfCall(provider, syscall, errno, text);
  return startAtCaller(new FabricError(errno, syscall, { detail: text, hint }, makeFabricError));
}

const packageFrame = /^ {4}at (?:async )?(?:.* \()?/;
const packageFiles = new URL('.', import.meta.url).href;

/** The same error with a stack that starts at the caller of the package: without its own frames. */
export function startAtCaller<E extends Error>(error: E): E {
  const stack = String(error.stack);
  const first = stack.indexOf('\n    at ');
  if (first < 0) return error;
  const frames = stack.slice(first + 1).split('\n');
  const own = frames.findIndex(
    (frame) => !frame.replace(packageFrame, '').startsWith(packageFiles),
  );
  if (own > 0) error.stack = [stack.slice(0, first), ...frames.slice(own)].join('\n');
  return error;
}

/** The same error with a stack that starts at the caller of `from`, for `throw atCallerOf(...)`. */
export function atCallerOf(from: AnyFunction, error: unknown): unknown {
  if (error instanceof Error) Error.captureStackTrace(error, from);
  return error;
}

/** Awaits what the addon does off the event loop: its error's stack names whoever awaits. */
export async function offLoop<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    Error.captureStackTrace(error, offLoop);
    throw startAtCaller(error);
  }
}

/** An error of misuse: what Node's own calls throw. */
export type MisuseError<E extends Error = Error> = E & { readonly code: string };

function misuse<E extends Error>(error: E, code: string, trim: AnyFunction): MisuseError<E> {
  const value = Object.assign(error, { code });
  Error.captureStackTrace(value, trim);
  return startAtCaller(value);
}

/** A short text of any value: `'abc'`, `-1`, `an object of class Foo`. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > 64 ? `a string of ${value.length} characters` : `'${value}'`;
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'bigint':
      return value >= -(2n ** 64n) && value <= 2n ** 64n ? `${value}n` : 'a bigint past 64 bits';
    case 'function':
      return 'a function';
    case 'symbol':
      return 'a symbol';
    default:
      return describeObject(value);
  }
}

function describeObject(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return 'an object';
}

/** `ERR_INVALID_ARG_TYPE`. `expected` completes "name must be ...": `'a Uint8Array'`. */
export function invalidArgType(
  name: string,
  expected: string,
  value: unknown,
): MisuseError<TypeError> {
  const text = `${name} must be ${expected}, got ${describeValue(value)}`;
  return misuse(new TypeError(text), 'ERR_INVALID_ARG_TYPE', invalidArgType);
}

/** `ERR_INVALID_ARG_VALUE`. `why` completes "name ...": `'is detached'`. */
export function invalidArgValue(name: string, why: string): MisuseError<TypeError> {
  return misuse(new TypeError(`${name} ${why}`), 'ERR_INVALID_ARG_VALUE', invalidArgValue);
}

/** `ERR_OUT_OF_RANGE`. `expected` completes "name must be ...": `'from 0 to 63'`. */
export function outOfRange(
  name: string,
  expected: string,
  value: unknown,
): MisuseError<RangeError> {
  const text = `${name} must be ${expected}, got ${describeValue(value)}`;
  return misuse(new RangeError(text), 'ERR_OUT_OF_RANGE', outOfRange);
}

/** `ERR_INVALID_THIS`: a method was called on something else than what it belongs to. */
export function invalidThis(name: string): MisuseError<TypeError> {
  const text = `this must be ${name}`;
  return misuse(new TypeError(text), 'ERR_INVALID_THIS', invalidThis);
}

/** `ERR_CLOSED`: the object was closed before, or while, it was used. */
export function closed(name: string): MisuseError {
  return misuse(new Error(`${name} is closed`), 'ERR_CLOSED', closed);
}

/** `ERR_INVALID_STATE`: not now. */
export function invalidState(text: string): MisuseError {
  return misuse(new Error(text), 'ERR_INVALID_STATE', invalidState);
}
