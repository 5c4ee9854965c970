// Requests as messages of libfabric/net: a small object costs less this way than by HTTP (docs/objects.md). A connection of
// HTTP is upgraded to them. A message has 8 bytes, a head in JSON, and a body.
import { invalidState } from '../base/errors.js';

/** [method, url, fields] or [status, fields]. */
export type Head =
  | readonly [string, string, Record<string, string>]
  | readonly [number, Record<string, string>];

/** The longest message. */
export const MAX_MESSAGE = 32 * 1024 * 1024;

const PREFIX = 8;

export interface ChannelMessage {
  readonly id: number;
  readonly head: Head;
  readonly body: Uint8Array;
}

export function encodeMessage(id: number, head: Head, body?: Uint8Array): Buffer {
  const text = JSON.stringify(head);
  const length = Buffer.byteLength(text);
  const message = Buffer.allocUnsafe(PREFIX + length + (body?.length ?? 0));
  message.writeUInt32LE(id, 0);
  message.writeUInt32LE(length, 4);
  message.write(text, PREFIX);
  if (body) message.set(body, PREFIX + length);
  return message;
}

/** @throws if the message is malformed. The body is a part of it. */
export function decodeMessage(bytes: Uint8Array): ChannelMessage {
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (message.length < PREFIX) throw invalidState('a message is too short');
  const end = PREFIX + message.readUInt32LE(4);
  if (end > message.length) throw invalidState('a message is too short');
  const head = JSON.parse(message.toString('utf8', PREFIX, end));
  return { id: message.readUInt32LE(0), head, body: message.subarray(end) };
}

/** Whether a value is an object of texts, as fields are. */
export const areFields = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((each) => typeof each === 'string');
