import type { ConnectionOptions } from 'node:tls';
import { checkMilliseconds, checkNames, checkObject, namesOf, oneOf } from '../base/checks.js';
import { describeValue, invalidArgType, invalidArgValue } from '../base/errors.js';
import { isUint8Array } from '../base/views.js';
import { CONTROL_NAMES, type ControlOptions } from './control-connection.js';
import { checkFabricOptions, FABRIC_NAMES } from './fabric-options.js';
import type { OnRead } from './onread.js';
import type { FabricOptions } from './ports.js';

/** Options of the stream that a {@link FabricSocket} is. */
export interface FabricSocketOptions {
  /** Whether the socket stays writable after the peer has ended its side. Default: false, as in node:net. */
  readonly allowHalfOpen?: boolean;
  /** Destroys the socket. */
  readonly signal?: AbortSignal;
  /** The other two marks. */
  readonly highWaterMark?: number;
  /** Default: 1 byte, so that one batch of what has arrived is read at a time. */
  readonly readableHighWaterMark?: number;
  readonly writableHighWaterMark?: number;
  /** Takes what arrives into memory of the program, instead of emitting 'data'. */
  readonly onread?: OnRead;
}

/** Where to connect to, and how. */
export interface ConnectOptions extends FabricSocketOptions, ControlOptions, FabricOptions {
  /** Options of tls.connect(), if the server listens with TLS. */
  readonly tls?: ConnectionOptions;
  /** Milliseconds for the connection and the agreement. Default: 5000. */
  readonly connectTimeout?: number;
  /** Milliseconds without activity until the socket emits 'timeout'. */
  readonly timeout?: number;
  /** Has no effect: what is written in one turn of the event loop travels together, and at once. */
  readonly noDelay?: boolean;
}

const STREAM_NAMES = namesOf<FabricSocketOptions>({
  allowHalfOpen: 1,
  signal: 1,
  highWaterMark: 1,
  readableHighWaterMark: 1,
  writableHighWaterMark: 1,
  onread: 1,
});

/** The names of the options of connect(), and therefore of a socket. */
export const CONNECT_NAMES: readonly string[] = [
  ...CONTROL_NAMES,
  ...STREAM_NAMES,
  ...FABRIC_NAMES,
  ...['tls', 'connectTimeout', 'timeout', 'noDelay', 'mode'],
];

/** Options of node:net that a socket of the fabric cannot have, and why. */
const REFUSED: Record<string, string> = {
  fd: 'a socket of the fabric has no file descriptor',
  handle: 'a socket of the fabric has no handle of libuv',
  objectMode: 'a socket carries bytes',
  readableObjectMode: 'a socket carries bytes',
  writableObjectMode: 'a socket carries bytes',
};

/** Refuses options that a socket cannot have. */
export function checkConnectOptions<T extends object>(options: T | undefined): Partial<T> {
  const checked = checkObject('options', options ?? undefined);
  const { readable, writable, ...others } = checked as Record<string, unknown>;
  if (readable === false || writable === false)
    throw invalidArgValue('options', 'must leave both sides of the socket open');
  for (const [name, why] of Object.entries(REFUSED)) {
    const value = others[name];
    // The text begins as in Node.js.
    if (value)
      throw invalidArgValue(
        `The property 'options.${name}'`,
        `is not supported. Received ${describeValue(value)}: ${why}`,
      );
    delete others[name];
  }
  checkNames('options', others, CONNECT_NAMES);
  checkFabricOptions(checked);
  const { mode, connectTimeout } = others;
  if (mode !== undefined) oneOf('options.mode', mode, ['messages']);
  if (connectTimeout !== undefined)
    checkMilliseconds('options.connectTimeout', connectTimeout as number, 1);
  checkOnRead(checked as FabricSocketOptions);
  return checked;
}

function checkOnRead({ onread }: FabricSocketOptions): void {
  if (onread === undefined || onread === null) return;
  const { buffer, callback } = Object(onread) as OnRead;
  if (!isUint8Array(buffer) && typeof buffer !== 'function')
    throw invalidArgType('options.onread.buffer', 'a Uint8Array or a function', buffer);
  if (typeof callback !== 'function')
    throw invalidArgType('options.onread.callback', 'a function', callback);
}

/**
 * The options and the listener in the arguments of connect(), as in node:net: (options), (port, host) or (path), each
 * with a listener at the end.
 */
export function connectArguments(
  args: readonly unknown[],
): [options: ConnectOptions, listener: (() => void) | undefined] {
  const last = args.at(-1);
  const listener = typeof last === 'function' ? (last as () => void) : undefined;
  const [first, second] = args;
  if (typeof first === 'object' && first !== null)
    return [checkObject('options', first) as ConnectOptions, listener];
  if (typeof first === 'function') return [{}, listener];
  if (typeof first === 'string' && !(Number(first) >= 0)) return [{ path: first }, listener];
  const host = typeof second === 'string' ? { host: second } : {};
  return [{ port: first as number, ...host }, listener];
}
