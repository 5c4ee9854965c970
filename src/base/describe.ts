// The output of console.log(), JSON.stringify() and structuredClone() for the package's objects.
import { type InspectOptions, inspect } from 'node:util';

type Fields = Readonly<Record<string, unknown>>;
type Class<T> = { readonly prototype: T };

/**
 * Sets what console.log() and JSON.stringify() show of a class's objects: a few fields on one line,
 * `Peer { handle: 1 }`. A field that is undefined or false is left out: `closed` appears if it is
 * true. No field may hold a secret.
 *
 * @param name the name of the class, or a function that returns it for an object.
 */
export function describes<T extends object>(
  name: string | ((object: T) => string),
  { prototype }: Class<T>,
  fieldsOf: (object: T) => Fields,
): void {
  const nameOf = typeof name === 'string' ? () => name : name;
  const method = (value: (this: T, ...args: never[]) => unknown) => ({
    value,
    writable: true,
    configurable: true,
  });
  Object.defineProperties(prototype, {
    [inspect.custom]: method(function (depth: number, options: InspectOptions) {
      if (depth < 0) return `[${nameOf(this)}]`;
      const fields = fieldsOrNone(() => fieldsOf(this));
      return `${nameOf(this)} ${inspect(fields, { ...options, ...ONE_LINE })}`;
    }),
    toJSON: method(function () {
      return forJson(fieldsOrNone(() => fieldsOf(this)));
    }),
  });
}

const ONE_LINE = { breakLength: Number.POSITIVE_INFINITY, compact: true, depth: 1 } as const;

// A prototype, or an object that only inherits from one, has no fields to read.
function fieldsOrNone(read: () => Fields): Fields {
  try {
    const own = Object.entries(read());
    return Object.fromEntries(own.filter(([, value]) => value !== undefined && value !== false));
  } catch {
    return {};
  }
}

/** The fields in a form for JSON: bigints as decimal digits, bytes as hexadecimal ones, 'Infinity'. */
export function forJson(fields: object): Record<string, unknown> {
  const values = Object.entries(fields).map(([name, value]) => [name, jsonOf(value)] as const);
  return Object.fromEntries(values);
}

/** Lets JSON.stringify() take an object with bigints. */
export function withJson<T extends object>(object: T): T {
  return Object.defineProperty({ ...object }, 'toJSON', { value: () => forJson(object) });
}

function jsonOf(value: unknown): unknown {
  if (typeof value === 'bigint' || value === Number.POSITIVE_INFINITY) return String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
}

/**
 * The value of an object's first property, `uncloneable`. structuredClone(), postMessage() and
 * v8.serialize() copy the properties of an object, but not its private ones, and so would make an
 * object that only looks like this one. They refuse a symbol, with its text as the message.
 *
 * @param what names the object, and what to send in its place.
 */
export const uncloneable = (what: string): symbol => Symbol(what);

/** Whether a member of an object is this property. */
export const isUncloneable = (member: string, value: unknown): boolean =>
  member === 'uncloneable' && typeof value === 'symbol';
