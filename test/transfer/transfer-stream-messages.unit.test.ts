// The messages of streams, and those of peers that do not follow the protocol.
import { describe, expect, test } from 'vitest';
import {
  type AddressedMessage,
  decodeMessage,
  encodeMessage,
} from '../../dist/transfer/streams/messages.js';
import { OfferedOrigin } from '../../dist/transfer/streams/origins.js';
import { StreamEnd } from '../../dist/transfer/streams/stream-end.js';

const MESSAGES: AddressedMessage['message'][] = [
  { kind: 'open', chunk: 4096 },
  { kind: 'chunk', index: 2 ** 40, token: 'abc-_' },
  { kind: 'end', chunks: 0, byteLength: 2 ** 52 },
  { kind: 'wanted', chunks: 2 ** 33 },
  { kind: 'filled', chunks: 0 },
  { kind: 'failed', reason: 'no space left on the device: ä' },
];

test('each message is decoded as it was encoded', () => {
  for (const toOwner of [false, true])
    for (const message of MESSAGES) {
      const addressed = { stream: 300, toOwner, message };
      expect(decodeMessage(encodeMessage(addressed))).toEqual(addressed);
    }
});

test('a message that was cut, or that is followed by bytes, is none', () => {
  for (const message of MESSAGES) {
    const bytes = encodeMessage({ stream: 1, toOwner: true, message });
    for (let length = 0; length < bytes.length; length++)
      expect(decodeMessage(bytes.subarray(0, length))).toBeUndefined();
    expect(decodeMessage(Uint8Array.from([...bytes, 0]))).toBeUndefined();
  }
});

test('bytes of any content are decoded or refused, without an exception', () => {
  for (let first = 0; first < 256; first++) {
    const bytes = Uint8Array.from({ length: 40 }, (_, i) => (i === 0 ? first : (i * first) & 0xff));
    const decoded = decodeMessage(bytes);
    if (decoded !== undefined) expect(encodeMessage(decoded)).toEqual(bytes);
  }
});

test('a reason that is too long is cut', () => {
  const message = { kind: 'failed', reason: 'x'.repeat(5000) } as const;
  const decoded = decodeMessage(encodeMessage({ stream: 1, toOwner: false, message }));
  expect(decoded?.message).toEqual({ kind: 'failed', reason: 'x'.repeat(1024) });
});

/** An end of a stream whose peer takes messages. */
function endOf(timeout = 10_000) {
  const sent: Uint8Array[] = [];
  const peer = { send: async (bytes: Uint8Array) => void sent.push(bytes), sendNow() {} } as never;
  let closed = 0;
  const limits = { timeout, signal: undefined };
  const end = new StreamEnd(peer, 1, false, limits, () => {
    closed += 1;
  });
  return { end, sent, closed: () => closed };
}

test('chunks that arrive in any order are used in their order', async () => {
  const { end } = endOf();
  end.arrived({ kind: 'chunk', index: 1, token: 'second' });
  const first = end.token(0);
  end.arrived({ kind: 'end', chunks: 2, byteLength: 10 });
  end.arrived({ kind: 'chunk', index: 0, token: 'first' });
  expect(await first).toBe('first');
  expect(await end.token(1)).toBe('second');
  expect(await end.token(2)).toBeUndefined();
});

test('a peer that offers chunks without end ends the stream', async () => {
  const { end, sent, closed } = endOf();
  for (let index = 1; index < 200; index++) end.arrived({ kind: 'chunk', index, token: 'x' });
  expect(end.signal.reason).toMatchObject({ code: 'FI_EPROTO' });
  await expect(end.token(0)).rejects.toMatchObject({ code: 'FI_EPROTO' });
  expect([sent.length, closed()]).toEqual([1, 1]);
  end.fail(new Error('later'));
  end.arrived({ kind: 'failed', reason: 'later' });
  expect([end.signal.reason.code, closed()]).toEqual(['FI_EPROTO', 1]);
});

test('a second end changes nothing', async () => {
  const { end } = endOf();
  end.arrived({ kind: 'end', chunks: 0, byteLength: 0 });
  end.arrived({ kind: 'end', chunks: 9, byteLength: 9 });
  expect(await end.token(0)).toBeUndefined();
  expect(end.ending).toMatchObject({ chunks: 0, byteLength: 0 });
});

test('the reason of a failure is sent before the transfers of the stream end', () => {
  const order: string[] = [];
  const peer = {
    send: async (bytes: Uint8Array) => void order.push(decodeMessage(bytes)!.message.kind),
    sendNow: () => order.push('now'),
  } as never;
  const end = new StreamEnd(peer, 1, false, { timeout: 1000, signal: undefined }, () => {});
  end.signal.addEventListener('abort', () => order.push('aborted'));
  end.fail(new Error('the program has stopped'));
  expect(order).toEqual(['failed', 'now', 'aborted']);
});

describe('a chunk takes memory', () => {
  /** Whether a promise has settled when everything has run that waits for nothing. */
  const hasSettled = async (promise: Promise<unknown>) => {
    let settled = false;
    promise.finally(() => {
      settled = true;
    });
    for (let i = 0; i < 20; i++) await Promise.resolve();
    return settled;
  };

  test('of the reader when that of the writer is filled, and never if it does not exist', async () => {
    const { end } = endOf();
    let acquired = 0;
    const offer = async () => ({ token: 'token', arrived: Promise.resolve({ length: 3 }) });
    const acquireToReceive = async () => {
      acquired += 1;
      return { offer, release() {} };
    };
    const pool = { size: 10, acquireToReceive } as never;
    const origin = new OfferedOrigin(end, { pool, signal: end.signal, timeout: 1000 });
    const first = origin.next();
    expect([await hasSettled(first), acquired]).toEqual([false, 0]);
    end.arrived({ kind: 'filled', chunks: 1 });
    expect(await (await first)?.arrived).toBe(3);
    const second = origin.next();
    expect(await hasSettled(second)).toBe(false);
    end.arrived({ kind: 'end', chunks: 1, byteLength: 3 });
    expect([await second, acquired]).toEqual([undefined, 1]);
  });

  test('of the writer when the reader wants it', async () => {
    const { end } = endOf();
    end.arrived({ kind: 'wanted', chunks: 1 });
    await end.asked(0);
    const second = end.asked(1);
    expect(await hasSettled(second)).toBe(false);
    end.arrived({ kind: 'wanted', chunks: 0 }); // an older message
    expect(await hasSettled(second)).toBe(false);
    end.arrived({ kind: 'wanted', chunks: 9 });
    await Promise.all([second, end.asked(8)]);
  });
});
