import { asCancellation } from './cancellation.js';
import { publishError } from './channels.js';
import { forJson } from './describe.js';
import { endOf } from './ends.js';
import { describeErrno, errnoByCode, type FabricErrorCode } from './error-codes.js';
import { hintOfCall } from './error-hints.js';
import type { CompletionFlag } from './flags.js';
import { isRevoked } from './objects.js';
import type { Peer } from './peer.js';

const brand = Symbol.for('libfabric.FabricError');

// biome-ignore lint/complexity/noBannedTypes: the parameter type of Error.captureStackTrace
type AnyFunction = Function;

/** The fields of a failed operation's completion. */
const OF_COMPLETIONS = [
  'index',
  'peer',
  'len',
  'olen',
  'tag',
  'data',
  'flags',
  'errData',
] as const satisfies readonly (keyof FabricError)[];

type DetailField =
  | 'provErrno'
  | 'provCode'
  | 'provMessage'
  | 'retryable'
  | 'hint'
  | (typeof OF_COMPLETIONS)[number];

/** The optional fields of a {@link FabricError}, its cause, and more text for its message. */
export type FabricErrorDetails = {
  readonly [Field in DetailField]?: FabricError[Field] | undefined;
} & {
  /** More about this failure, for the message. If omitted, the provider's text. */
  readonly detail?: string | undefined;
  readonly cause?: unknown;
};

/**
 * The message has the form of Node's own: `FI_ETRUNC: Truncation error, fi_cq_readerr`. If the
 * provider adds a text, it follows in parentheses. A hint, if any, comes last.
 *
 * Invalid calls throw a `TypeError`, a `RangeError` or an `Error` with an `ERR_*` code instead. See
 * fi_errno(3).
 */
export class FabricError extends Error {
  /**
   * The name of {@link errno} in fi_errno(3), or the system's (`'EEXIST'`) if libfabric has none.
   */
  readonly code: FabricErrorCode | (string & {});
  /** The positive error number. */
  readonly errno: number;
  /** The libfabric call that reported the error: `'fi_cq_readerr'`. */
  readonly syscall: string;
  /** The provider's own error number. */
  declare readonly provErrno?: number;
  /**
   * The provider's name for {@link provErrno}, if known: `'FI_EFA_ERR_RMA_ADDR'`. Known for efa;
   * see efaStatus().
   */
  declare readonly provCode?: string;
  /** The provider's text for {@link provErrno}. */
  declare readonly provMessage?: string;
  /**
   * Whether the cause may be temporary, so that a retry may succeed. Known if {@link provCode} is
   * known.
   */
  declare readonly retryable?: boolean;
  /** The known cause and the usual remedy. */
  declare readonly hint?: string;
  /**
   * For av.insertMany(): the peers of the addresses before the refused one, which stay inserted.
   */
  declare readonly inserted?: readonly Peer[];
  /**
   * For an operation of a batch: its index, as returned by the batch's call. Of several failed
   * operations, this is the first; the others continue. For av.insertMany(): the index of the
   * refused address.
   */
  declare readonly index?: number;
  /**
   * The peer that the operation names: the target of a send, RMA or atomic operation, or the source
   * of a receive that accepts one peer only. For a message that is longer than its receive, the sender
   * over shm with FI_SOURCE. For other failed receives, no provider reports the sender.
   */
  declare readonly peer?: Peer;
  /**
   * For an operation that completed in error: the bytes that arrived. fi_cq_readerr(3) reports this
   * field and the following ones besides the error. The fields depend on the provider:
   * [errors](../../docs/troubleshooting.md#what-a-failed-operation-tells).
   */
  declare readonly len?: number;
  /**
   * Bytes that did not fit: after FI_ETRUNC the message had `len + olen` bytes. Missing if the
   * provider does not report it.
   */
  declare readonly olen?: number;
  /** The tag of a tagged message. */
  declare readonly tag?: bigint;
  /** The remote CQ data of the message, unless it is 0 or missing. */
  declare readonly data?: bigint;
  /** The kind of the operation: `['FI_RECV', 'FI_MSG']`. */
  declare readonly flags?: readonly CompletionFlag[];
  /**
   * The provider's own error data. With FI_EADDRNOTAVAIL, the address of the sender, for
   * `av.insert()`.
   */
  declare readonly errData?: Uint8Array;

  /** @param trim the function whose caller is the top of the stack. */
  constructor(
    errno: number,
    syscall: string,
    details: FabricErrorDetails = {},
    trim: AnyFunction = new.target,
  ) {
    const { code, text } = describeErrno(errno);
    const { provErrno, provCode, provMessage, retryable, hint, cause } = details;
    const detail = details.detail || (saysMore(details, text) ? provMessage : undefined);
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

  /** For an operation that timed out: resolves when its memory is free again. See released(). */
  get released(): Promise<void> | undefined {
    return endOf(this);
  }

  /** For JSON.stringify(). */
  toJSON(): { code: string; errno: number; syscall: string; message: string } {
    const { code, errno, syscall, message } = this;
    return { code, errno, syscall, message, ...forJson(this) };
  }

  /** Whether this is a FabricError of this or any other copy of the package. */
  static is(value: unknown): value is FabricError {
    return typeof value === 'object' && value !== null && brand in value;
  }
}

// tcp reports the state of its socket with a truncated message: 11 (EAGAIN) or 115 (EINPROGRESS).
const STATES: readonly (number | undefined)[] = [11, 115];

/** Whether the provider's text adds information to the text of the error. */
function saysMore({ provErrno, provMessage, provCode }: FabricErrorDetails, text: string): boolean {
  return provMessage !== text && (provCode !== undefined || !STATES.includes(provErrno));
}

Object.defineProperty(FabricError.prototype, 'name', { value: 'FabricError', configurable: true });
Object.defineProperty(FabricError.prototype, brand, { value: true });

/** Creates the addon's errors. `provider` is '' if the call has no provider. */
export function makeFabricError(
  errno: number,
  syscall: string,
  text: string,
  provider = '',
): FabricError {
  const hint = hintOfCall(provider, syscall, errno, text);
  const error = new FabricError(errno, syscall, { detail: text, hint }, makeFabricError);
  // The addon's calls off the event loop end with this code if close() was called meanwhile.
  return startAtCaller(errno === errnoByCode.FI_ECANCELED ? asCancellation(error) : error);
}

const packageFrame = /^ {4}at (?:async )?(?:.* \()?/;
const thisFile = import.meta.url;
// In a bundle, the package's frames cannot be distinguished from the program's.
const packageFiles = thisFile?.endsWith('/base/errors.js')
  ? new URL('..', thisFile).href
  : undefined;

/** Removes the package's own frames from the top of the error's stack. */
export function startAtCaller<E extends Error>(error: E): E {
  if (packageFiles === undefined) return error;
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

/** Makes the error's stack start at the caller of `from`, for `throw atCallerOf(...)`. */
export function atCallerOf(from: AnyFunction, error: unknown): unknown {
  if (error instanceof Error) Error.captureStackTrace(error, from);
  return error;
}

/**
 * Awaits the addon's work off the event loop. The stack of its error names the awaiting function.
 */
export async function offLoop<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    Error.captureStackTrace(error, offLoop);
    throw startAtCaller(error);
  }
}

/** An error for an invalid call, like those of Node itself. */
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
  if (isRevoked(value)) return 'a revoked proxy';
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

/** `ERR_INVALID_THIS`: a method was called on an object of another class. */
export function invalidThis(name: string): MisuseError<TypeError> {
  const text = `this must be ${name}`;
  return misuse(new TypeError(text), 'ERR_INVALID_THIS', invalidThis);
}

/** `ERR_CLOSED`: the object was closed before the call or during it. */
export function closed(name: string): MisuseError {
  return misuse(new Error(`${name} is closed`), 'ERR_CLOSED', closed);
}

/** `ERR_INVALID_STATE`: the call is not valid in the current state. */
export function invalidState(text: string): MisuseError {
  return misuse(new Error(text), 'ERR_INVALID_STATE', invalidState);
}
