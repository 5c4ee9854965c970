// Requests as messages: a small object costs less this way than by HTTP (docs/objects.md). A connection of HTTP is upgraded
// to them. A message has a prefix, a body, and a head in JSON.
import { connectionError } from '../net/errors.js';
import { HEADER } from './link.js';

/** [method, url, fields] or [status, fields]. */
export type Head =
  | readonly [string, string, Record<string, string>]
  | readonly [number, Record<string, string>];

/** Bytes before the body: the length of what follows it, the number of the call, and the length of the body. */
export const PREFIX = HEADER + 8;

/** The number of the message by which a server ends a channel without a call in progress. It takes no request after it. */
export const GIVES_WAY = 0;

export interface ChannelMessage {
  readonly id: number;
  readonly head: Head;
  readonly body: Uint8Array;
}

const NO_BYTES = new Uint8Array();

/** A message. @param room if it has the body behind the prefix, and room for the head, it becomes the message. */
export function encodeMessage(
  id: number,
  head: Head,
  body: Uint8Array = NO_BYTES,
  room?: Buffer,
): Buffer {
  const text = JSON.stringify(head);
  const at = PREFIX + body.length;
  const length = at + Buffer.byteLength(text);
  const isThere = room && body.buffer === room.buffer && length <= room.length;
  const message = isThere ? room.subarray(0, length) : Buffer.allocUnsafe(length);
  message.writeUInt32LE(id, HEADER);
  message.writeUInt32LE(body.length, HEADER + 4);
  if (!isThere || body.byteOffset !== room.byteOffset + PREFIX) message.set(body, PREFIX);
  message.write(text, at);
  return message;
}

/** @throws Error EPROTO if the message is malformed. The body is a part of it. */
export function decodeMessage(bytes: Uint8Array): ChannelMessage {
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (message.length < PREFIX) throw malformed('a message is too short');
  const end = PREFIX + message.readUInt32LE(HEADER + 4);
  if (end > message.length) throw malformed('a message is too short');
  const head = headOf(message.toString('utf8', end));
  return { id: message.readUInt32LE(HEADER), head, body: message.subarray(PREFIX, end) };
}

function headOf(text: string): Head {
  let head: unknown;
  try {
    head = JSON.parse(text);
  } catch {
    throw malformed('the head of a message is no JSON');
  }
  if (!Array.isArray(head)) throw malformed('the head of a message is no list');
  return head as unknown as Head; // whoever reads it checks its members
}

const malformed = (detail: string) => connectionError('EPROTO', detail, 'read');

/** Whether a value is an object of texts, as fields are. */
export const areFields = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((each) => typeof each === 'string');
