// Shared by the streams of messages.

import { timedOut } from '../base/wait-options.js';
import { Op } from '../contract/layout.js';
import type { Completion } from './completion.js';
import type { Engine } from './engine.js';
import { Kind } from './requests.js';

/**
 * The wait options of a stream. A rejection of next() ends the stream, as an error ends an async
 * generator: JavaScript does not call return() then.
 */
export interface StreamOptions {
  /** Ends the stream. Pending and later calls of next() reject with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * The timeout of next() in milliseconds. Then next() rejects with FI_ETIMEDOUT, and the stream
   * ends.
   */
  readonly timeout?: number;
}

/** @internal */
export const timeoutError = (milliseconds: number) => timedOut('fi_cq_read', milliseconds);

/** @internal A message that arrived for a stream and was not taken. */
export interface Untaken {
  readonly completion: Completion;
  /** Its sequence number among all messages that arrived. */
  readonly arrival: number;
  /** The engine's handle of the memory with its bytes. */
  readonly handle: number;
  readonly offset: number;
  /** The object that keeps the memory alive. */
  readonly owner: unknown;
}

/**
 * @internal Passes messages to the next receives of their endpoint. Resolves when the engine has
 * them.
 */
export async function giveBack(
  { engine, handle }: { readonly engine: Engine; readonly handle: number },
  messages: Untaken[],
): Promise<void> {
  let last = 0;
  for (const message of messages) last = putBack(engine, handle, message);
  if (messages.length === 0) return;
  const taken = engine.requests.promise<void>(last);
  await engine.settled(taken.catch(() => {})); // the domain was closed
}

function putBack(engine: Engine, endpoint: number, message: Untaken): number {
  const { completion, arrival, handle, offset, owner } = message;
  const { submissions } = engine;
  const request = engine.begin(Kind.Void, owner);
  const at = submissions.reserve(0);
  const { entries } = submissions;
  const { length, source } = completion;
  entries.begin(at, Op.GiveBack, request, endpoint);
  entries.setPeer(at, source?.handle ?? 0);
  entries.setMemory(at, length === 0 ? 0 : handle, offset, length);
  entries.setArrival(at, arrival);
  completion.putInto(entries, at);
  submissions.commit();
  return request;
}
