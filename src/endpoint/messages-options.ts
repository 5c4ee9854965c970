import { checkInteger, checkObject, namesOf, oneOf } from '../base/checks.js';
import { invalidArgType, outOfRange } from '../base/errors.js';
import { checkWait, type Wait } from '../base/wait-options.js';
import type { StreamOptions } from '../engine/stream.js';

/** The wait options of a multi-receive buffer, and whose memory its messages are in. */
export interface MultiRecvOptions extends StreamOptions {
  /**
   * Whether the bytes of a message are those of its receive buffer, and so valid only until the buffer
   * is posted again. If omitted, each message is copied into memory of its own. Over shm that takes
   * less than 0.2 us for 64 bytes, 0.9 us for 4 KiB, and 0.5 ms for 1 MiB: docs/figures.md.
   */
  readonly borrow?: boolean;
}

/** The buffers and wait options of a stream of messages. */
export interface MessagesOptions extends MultiRecvOptions {
  /** The number of buffers to keep posted. If omitted, 64. */
  readonly count?: number;
  /** The size of each buffer in bytes, and so of the longest message. If omitted, 4096. */
  readonly size?: number;
  /**
   * What a message that is longer than a buffer does. `'throw'`, or omitted: next() rejects with
   * FI_ETRUNC, which ends the stream. `'skip'`: the message is dropped, its error goes to
   * `cq.readErrors()` and the channel `libfabric:error`, and the stream continues.
   */
  readonly onTruncated?: 'throw' | 'skip';
}

const COMMON = { borrow: 1, signal: 1, timeout: 1 } as const;
const NAMES = namesOf<MessagesOptions>({ count: 1, size: 1, onTruncated: 1, ...COMMON });
const MULTI_RECV_NAMES = namesOf<MultiRecvOptions>(COMMON);

// The most bytes in the buffers of one stream of messages.
const MAX_BUFFERS = 2 ** 30;

/** The options of a multi-receive buffer, checked. */
export interface CheckedMultiRecvOptions {
  readonly wait: Wait;
  readonly borrow: boolean;
}

/** The options of a stream of messages, checked. */
export interface CheckedMessagesOptions extends CheckedMultiRecvOptions {
  readonly count: number;
  readonly size: number;
  readonly skips: boolean;
}

export function checkMessagesOptions(options: MessagesOptions | undefined): CheckedMessagesOptions {
  const checked = checkObject('options', options);
  const count = checkInteger('options.count', checked.count ?? 64, 1, 65_536);
  const size = checkInteger('options.size', checked.size ?? 4096, 1, 2 ** 30);
  const bytes = count * size;
  if (bytes > MAX_BUFFERS) {
    throw outOfRange('options.count * options.size', `at most ${MAX_BUFFERS} bytes`, bytes);
  }
  const onTruncated = checked.onTruncated ?? 'throw';
  oneOf('options.onTruncated', onTruncated, ['throw', 'skip']);
  const skips = onTruncated === 'skip';
  return { count, size, skips, ...checkMultiRecvOptions(options, NAMES) };
}

export function checkMultiRecvOptions(
  options: MultiRecvOptions | undefined,
  names: readonly string[] = MULTI_RECV_NAMES,
): CheckedMultiRecvOptions {
  const wait = checkWait(options, names);
  const borrow = options?.borrow ?? false;
  if (typeof borrow !== 'boolean') throw invalidArgType('options.borrow', 'a boolean', borrow);
  return { wait, borrow };
}
