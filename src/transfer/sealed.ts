import { createHmac, timingSafeEqual } from 'node:crypto';
import { checkString } from '../base/checks.js';
import { invalidArgValue } from '../base/errors.js';

// An address or a token is text that programs pass over channels of their own. It is the base64url of a kind, a
// version, the content and a tag. The tag is the start of an HMAC with the secret that the engines share. Without a
// secret, the tag only detects damage.
const VERSION = 1;
const TAG = 12; // bytes
const MAX_TEXT = 1 << 22;

export type Kind = 'address' | 'token' | 'stream';
const KINDS: Readonly<Record<Kind, number>> = { address: 0xc1, token: 0x70, stream: 0x57 };
const NAMES: Readonly<Record<Kind, string>> = {
  address: 'address',
  token: 'token',
  stream: 'token',
};

/** Whether a text begins as one of this kind. */
export const isOf = (kind: Kind, text: unknown): text is string =>
  typeof text === 'string' && Buffer.from(text.slice(0, 4), 'base64url')[0] === KINDS[kind];

const tagOf = (content: Uint8Array, secret: string | Uint8Array) =>
  createHmac('sha256', secret).update(content).digest().subarray(0, TAG);

/** Seals the content of an address or a token. */
export function seal(kind: Kind, content: Uint8Array, secret: string | Uint8Array): string {
  const body = Buffer.concat([Uint8Array.of(KINDS[kind], VERSION), content]);
  return Buffer.concat([body, tagOf(body, secret)]).toString('base64url');
}

/**
 * Opens an address or a token.
 *
 * @throws TypeError ERR_INVALID_ARG_VALUE if it is malformed, was damaged, or was sealed with
 * another secret.
 */
export function unseal(kind: Kind, text: unknown, secret: string | Uint8Array): Reader {
  const name = NAMES[kind];
  const checked = checkString(name, text);
  if (checked.length > MAX_TEXT || !/^[\w-]+$/.test(checked)) {
    throw invalidArgValue(name, `is not the ${name} of a transfer engine`);
  }
  const bytes = Buffer.from(checked, 'base64url');
  if (bytes.length < 2 + TAG || bytes[0] !== KINDS[kind]) {
    throw invalidArgValue(name, `is not the ${name} of a transfer engine`);
  }
  if (bytes[1] !== VERSION) throw invalidArgValue(name, `has version ${bytes[1]}, not ${VERSION}`);
  const body = bytes.subarray(0, -TAG);
  // Different texts may decode to the same bytes.
  const isCanonical = bytes.toString('base64url') === checked;
  if (!isCanonical || !timingSafeEqual(bytes.subarray(-TAG), tagOf(body, secret))) {
    throw invalidArgValue(name, 'was damaged, or sealed with another `secret`');
  }
  return new Reader(name, body.subarray(2));
}

/** Writes the content of an address or a token. */
export class Writer {
  readonly #parts: number[] = [];

  byte(value: number): this {
    this.#parts.push(value & 0xff);
    return this;
  }

  /** An integer up to 2^53: 7 bits in each byte. */
  count(value: number): this {
    let rest = value;
    while (rest >= 0x80) {
      this.#parts.push((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    return this.byte(rest);
  }

  long(value: bigint): this {
    for (let shift = 0n; shift < 64n; shift += 8n) this.byte(Number((value >> shift) & 0xffn));
    return this;
  }

  bytes(value: Uint8Array): this {
    this.count(value.length);
    for (const each of value) this.#parts.push(each);
    return this;
  }

  done(): Uint8Array {
    return Uint8Array.from(this.#parts);
  }
}

/** Reads what a Writer has written. */
export class Reader {
  readonly #name: string;
  readonly #content: Uint8Array;
  #at = 0;

  constructor(name: string, content: Uint8Array) {
    this.#name = name;
    this.#content = content;
  }

  get atEnd(): boolean {
    return this.#at === this.#content.length;
  }

  byte(): number {
    const value = this.#content[this.#at++];
    if (value === undefined) throw this.malformed();
    return value;
  }

  count(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const each = this.byte();
      value += (each & 0x7f) * scale;
      if (!Number.isSafeInteger(value)) throw this.malformed();
      if (each < 0x80) return value;
    }
  }

  long(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 64n; shift += 8n) value |= BigInt(this.byte()) << shift;
    return value;
  }

  bytes(): Uint8Array {
    const length = this.count();
    const end = this.#at + length;
    if (end > this.#content.length) throw this.malformed();
    const bytes = this.#content.slice(this.#at, end);
    this.#at = end;
    return bytes;
  }

  malformed(): Error {
    return invalidArgValue(this.#name, 'is malformed');
  }
}
