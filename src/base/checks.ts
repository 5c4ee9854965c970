import { constants } from 'node:buffer';
import { types } from 'node:util';
import { isUncloneable } from './describe.js';
import { describeValue, invalidArgType, invalidArgValue, outOfRange } from './errors.js';
import { nearestName } from './nearest-name.js';
import { isRevoked } from './objects.js';
import {
  bufferOf,
  bytesOf,
  isBufferView,
  isDetached,
  isOutOfBounds,
  isUint8Array,
  lengthOf,
  sizeOf,
} from './views.js';

// The most characters of a wrong name that are compared and reported.
const MAX_NAME = 64;

/** The longest timeout of a call: the maximum of setTimeout(), 24 days. */
export const MAX_MILLISECONDS = 2 ** 31 - 1;

/** Checks for an integer from `min` to `max`. */
export function checkInteger(
  name: string,
  value: unknown,
  min = 0,
  max: number = Number.MAX_SAFE_INTEGER,
): number {
  if (typeof value !== 'number') throw invalidArgType(name, 'a number', value);
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    throw outOfRange(name, `an integer from ${min} to ${max}`, value);
  }
  return value;
}

/** Checks for 64 unsigned bits: a bigint, or a safe integer. */
export function check64(name: string, value: unknown): number | bigint {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw outOfRange(name, 'a safe integer from 0, or a bigint', value);
    }
    return value;
  }
  if (typeof value !== 'bigint') throw invalidArgType(name, 'a bigint or a number', value);
  if (value < 0n || value > 0xffff_ffff_ffff_ffffn) {
    throw outOfRange(name, 'from 0 to 2^64 - 1', value);
  }
  return value;
}

/** Checks for an object of options, or undefined. */
export function checkObject<T extends object>(name: string, value: T | undefined): Partial<T> {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || isRevoked(value) || Array.isArray(value)) {
    throw invalidArgType(name, 'an object', value);
  }
  return value;
}

/** Checks for an object of options that has no other members than these, or undefined. */
export function checkOptions<T extends object>(
  name: string,
  value: T | undefined,
  names: Names<T>,
): Partial<T> {
  const options = checkObject(name, value);
  checkNames(name, options, names);
  return options;
}

/** The names of the members of `T`, made by namesOf(). */
export type Names<T> = readonly (keyof T & string)[];

/** Lists the names of the members of `T`: `namesOf<WaitOptions>({ signal: 1, timeout: 1 })`. */
export function namesOf<T>(members: { readonly [Name in keyof Required<T>]: 1 }): Names<T> {
  return Object.keys(members) as (keyof T & string)[];
}

/** Refuses a member with another name. A member that is undefined does not count. */
export function checkNames(name: string, value: object, names: readonly string[]): void {
  for (const member in value) {
    if (!names.includes(member)) refuseMember(name, value, member, names);
  }
}

function refuseMember(name: string, value: object, member: string, names: readonly string[]): void {
  const given = (value as Record<string, unknown>)[member];
  if (given === undefined || isUncloneable(member, given)) return; // device memory of this package is such an object
  const wrong = member.slice(0, MAX_NAME);
  const nearest = nearestName(wrong, names);
  const advice = nearest === undefined ? `use ${names.join(', ')}` : `did you mean '${nearest}'?`;
  throw invalidArgValue(name, `has no member '${wrong}'; ${advice}`);
}

export function checkString(name: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidArgType(name, 'a string', value);
  if (value.includes('\0')) throw invalidArgValue(name, 'contains a NUL character');
  return value;
}

/** Checks for a text that is not empty. */
export function checkText(name: string, value: unknown): string {
  const text = checkString(name, value);
  if (text === '') throw invalidArgValue(name, 'is empty');
  return text;
}

// The texts that strtoul(3), and therefore getaddrinfo(3), reads as a number. There, `99999` is port 34463, and
// ` -65456` is port 80.
const NUMERIC = /^\s*[+-]?\d+\s*$/;

/** The largest port of TCP and UDP. */
export const MAX_PORT = 65_535;

/** Whether a text is a port in decimal digits. */
export const isPort = (text: string): boolean => /^\d+$/.test(text) && Number(text) <= MAX_PORT;

/** Whether a text may be a service: a port or a name. The system may have no service of that name. */
export const isService = (text: string): boolean => !NUMERIC.test(text) || isPort(text);

/** Refuses a number that is no port. Other text may be the name of a service. */
export function checkService(name: string, text: string): string {
  if (isService(text)) return text;
  throw outOfRange(name, `a port from 0 to ${MAX_PORT}, or the name of a service`, text);
}

/** Checks for milliseconds to wait: every timeout and interval. Fractions are allowed. */
export function checkMilliseconds(
  name: string,
  value: unknown,
  min = 0,
  max: number = MAX_MILLISECONDS,
): number {
  if (typeof value !== 'number') throw invalidArgType(name, 'a number of milliseconds', value);
  if (!(value >= min && value <= max)) {
    throw outOfRange(name, `from ${min} to ${max} milliseconds`, value);
  }
  return value;
}

/** The caller's bytes as a Uint8Array. Its length property cannot be trusted: use lengthOf(). */
export function checkBytes(name: string, value: unknown): Uint8Array {
  let bytes: Uint8Array;
  if (isUint8Array(value)) {
    bytes = value;
  } else if (isBufferView(value)) {
    refuseUnusable(value, name);
    checkByteLength(name, lengthOf(value));
    bytes = bytesOf(value);
  } else if (types.isAnyArrayBuffer(value)) {
    return allBytesOf(name, value);
  } else {
    throw invalidArgType(name, 'an ArrayBuffer or a view of one', value);
  }
  refuseUnusable(bytes, name);
  return bytes;
}

/** Refuses a view whose buffer is detached, or has become too short for it. */
export function refuseUnusable(view: ArrayBufferView, name: string): void {
  if (lengthOf(view) > 0) return;
  refuseDetached(bufferOf(view), name);
  if (isOutOfBounds(view)) throw invalidArgValue(name, 'is out of the bounds of its buffer');
}

/** The bytes of an ArrayBuffer or a SharedArrayBuffer. */
export function allBytesOf(name: string, buffer: ArrayBufferLike): Uint8Array {
  refuseDetached(buffer, name);
  checkByteLength(name, sizeOf(buffer));
  return new Uint8Array(buffer);
}

/** Refuses more bytes than a Uint8Array of this Node.js can have, which is fewer than a buffer can. */
export function checkByteLength(name: string, bytes: number): void {
  const most = constants.MAX_LENGTH;
  if (bytes <= most) return;
  throw outOfRange(name, `at most ${most} bytes, the buffer.constants.MAX_LENGTH`, bytes);
}

export function refuseDetached(buffer: ArrayBufferLike, name: string): void {
  if (isDetached(buffer)) throw invalidArgValue(name, 'is detached');
}

export function oneOf<T extends string>(name: string, value: unknown, allowed: readonly T[]): T {
  if (!allowed.includes(value as T)) {
    const all = allowed.map((v) => `'${v}'`).join(', ');
    throw invalidArgValue(name, `must be one of ${all}, got ${describeValue(value)}`);
  }
  return value as T;
}
