// Bytes that a program detaches, or makes shorter, while a call uses them: the call has copied them, holds their memory, or
// rejects with a code. Nothing throws elsewhere, and no other call of the client fails.
import type { ObjectClient } from 'libfabric/objects';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { MIB, serve, TCP } from '../support/object-stores.js';
import { settle } from '../support/settle.js';

const SIZES = [5000, 300_000, 3 * MIB];
/** The turns of the event loop between the call and the end of its bytes. */
const TURNS = [0, 1, 3, 9];

interface Given {
  readonly bytes: Uint8Array;
  end(): void;
}

interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}
type Resizable = ArrayBuffer & { resize(length: number): void };

// TypeScript knows them only with other libraries.
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { Memory: new (size: { initial: number; maximum: number }) => WasmMemory };
};
const ResizableBuffer = ArrayBuffer as unknown as new (
  length: number,
  options: { maxByteLength: number },
) => Resizable;

const KINDS: Record<string, (size: number) => Given> = {
  transferred: (size) => {
    const bytes = new Uint8Array(size);
    return { bytes, end: () => void structuredClone(bytes, { transfer: [bytes.buffer] }) };
  },
  'memory of WebAssembly that grows': (size) => {
    const memory = new WebAssembly.Memory({ initial: 64, maximum: 65 });
    return { bytes: new Uint8Array(memory.buffer, 0, size), end: () => void memory.grow(1) };
  },
  'made shorter': (size) => {
    const buffer = new ResizableBuffer(size, { maxByteLength: size });
    return { bytes: new Uint8Array(buffer, 0, size), end: () => buffer.resize(10) };
  },
};

async function during<T>(call: Promise<T>, { end }: Given, turns: number): Promise<T | Error> {
  const settled = call.catch((error) => error);
  for (let turn = 0; turn < turns; turn++) {
    if (turn % 2) await new Promise(setImmediate);
    else await undefined;
  }
  end();
  return settle(settled);
}

const codeOf = (error: Error) => (error as NodeJS.ErrnoException).code;
const CODES = ['ERR_INVALID_STATE', 'ERR_INVALID_ARG_VALUE'];

async function checkPuts(client: ObjectClient, kind: (size: number) => Given) {
  for (const size of SIZES)
    for (const turns of TURNS)
      for (const options of [{}, { checksum: turns % 2 ? 'crc64nvme' : 'sha256' } as const]) {
        const given = kind(size);
        given.bytes.fill(7);
        await client.put('a', 'before');
        const result = await during(client.put('a', given.bytes, options), given, turns);
        const { bytes } = await client.get('a');
        if (result instanceof Error) {
          expect(size).toBeGreaterThan(5000); // short bytes were copied
          expect(CODES).toContain(codeOf(result));
          expect(Buffer.from(bytes).toString()).toBe('before');
        } else {
          expect([bytes.length, bytes.every((byte) => byte === 7)]).toEqual([size, true]);
        }
      }
}

describe.each([
  ['over the fabric', TCP],
  ['over HTTP', undefined],
])('%s', (_, fabric) => {
  test.each(casesOf(Object.entries(KINDS), ([kind]) => kind !== 'transferred'))(
    'put() of bytes that are %s',
    async (__, kind) => {
      const { connect } = await serve(fabric);
      await checkPuts(await connect(), kind);
    },
  );

  test('get() into bytes that are detached or made shorter rejects', async () => {
    const { connect } = await serve(fabric);
    const client = await connect();
    await client.put('a', new Uint8Array(3 * MIB));
    for (const kind of Object.values(KINDS))
      for (const end of [5000, 3 * MIB])
        for (const turns of TURNS) {
          const given = kind(end);
          const got = client.get('a', { into: given.bytes, range: { start: 0, end } });
          const result = await during(got, given, turns);
          const isDone = turns > 1 && !(result instanceof Error);
          if (isDone) continue; // all bytes had arrived before
          expect([end, turns, codeOf(result as Error)]).toEqual([end, turns, 'ERR_INVALID_STATE']);
        }
  });
});

test('a call of a function of the program gets the bytes, or an error', async () => {
  const { connect } = await serve(undefined);
  const client = await connect({ fetch });
  await checkPuts(client, KINDS.transferred as (size: number) => Given);
});
