// Random programs of a writer and a reader, and what they observe of the stream between them.
import { createHash } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { pattern } from './bytes.js';

/** The two ends of a stream. */
export interface Ends {
  readonly writable: Writable;
  /** The end that is read. Where only complete bytes can be read, it is called after 'finish'. */
  readable(): Readable | Promise<Readable>;
  /** Whether the bytes can be read only after 'finish'. */
  readonly isLater?: boolean;
}

const ENCODINGS = ['utf8', 'latin1', 'ascii', 'hex', 'base64', 'base64url', 'utf16le'] as const;

const lengths = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(0, 1, 2) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 300 }) },
  { weight: 1, arbitrary: fc.integer({ min: 15_000, max: 70_000 }) },
);

const Resizable = ArrayBuffer as unknown as new (
  length: number,
  options: { maxByteLength: number },
) => ArrayBuffer;

const resizableOf = (bytes: Uint8Array) => {
  const buffer = new Resizable(bytes.length, { maxByteLength: bytes.length + 10 });
  new Uint8Array(buffer).set(bytes);
  return buffer;
};

const sharedOf = (bytes: Uint8Array) => {
  const buffer = new SharedArrayBuffer(bytes.length);
  new Uint8Array(buffer).set(bytes);
  return buffer;
};

const alignedTo = (bytes: Uint8Array) => Uint8Array.from(bytes).buffer;

/** Chunks of every kind, each made of bytes. Some are refused, by PassThrough too. */
const KINDS = {
  buffer: (bytes: Uint8Array): unknown => Buffer.from(bytes),
  uint8: (bytes: Uint8Array): unknown => Uint8Array.from(bytes),
  part: (bytes: Uint8Array): unknown => Uint8Array.of(9, ...bytes, 9).subarray(1, -1),
  text: (bytes: Uint8Array): unknown => Buffer.from(bytes).toString('base64'),
  shared: (bytes: Uint8Array): unknown => new Uint8Array(sharedOf(bytes)),
  resizable: (bytes: Uint8Array): unknown => new Uint8Array(resizableOf(bytes)),
  fixedOfResizable: (bytes: Uint8Array): unknown =>
    new Uint8Array(resizableOf(bytes), 0, bytes.length),
  dataView: (bytes: Uint8Array): unknown => new DataView(alignedTo(bytes)),
  uint16: (bytes: Uint8Array): unknown =>
    new Uint16Array(alignedTo(bytes.subarray(0, bytes.length & ~1))),
  arrayBuffer: (bytes: Uint8Array): unknown => alignedTo(bytes),
  object: (): unknown => ({ id: 1 }),
  number: (): unknown => 7,
  null: (): unknown => null,
} as const;

type Kind = keyof typeof KINDS;
/** Kinds that all writables take. */
const PLAIN: readonly Kind[] = ['buffer', 'uint8', 'part', 'text', 'shared', 'resizable'];

export interface Chunk {
  readonly kind: Kind;
  readonly length: number;
  readonly encoding: (typeof ENCODINGS)[number];
}

/** The value that a program writes. */
export const chunkValue = ({ kind, length }: Chunk): unknown =>
  KINDS[kind](pattern(kind === 'part' ? Math.min(length, 1000) : length, length + 1));

export const chunkOf = (kinds: readonly Kind[]): fc.Arbitrary<Chunk> =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    length: lengths,
    encoding: fc.constantFrom(...ENCODINGS),
  });

export const ALL_KINDS = Object.keys(KINDS) as Kind[];

const step = fc.oneof(
  { weight: 6, arbitrary: chunkOf(ALL_KINDS) },
  { weight: 1, arbitrary: fc.constantFrom('cork' as const, 'uncork' as const, 'turn' as const) },
);

/** What the writer does. */
const writing = fc.oneof(
  fc.record({
    how: fc.constant('write' as const),
    steps: fc.array(step, { maxLength: 12 }),
    last: fc.option(chunkOf(PLAIN), { nil: undefined }),
  }),
  fc.record({
    how: fc.constantFrom('pipeline' as const, 'web' as const),
    chunks: fc.array(chunkOf(PLAIN), { maxLength: 8 }),
    highWaterMark: fc.constantFrom(0, 1, 16_384),
  }),
);

/** What the reader does. */
const reading = fc.record({
  how: fc.constantFrom('data', 'iterator', 'read', 'web', 'pipeline', 'compose', 'paused'),
  highWaterMark: fc.constantFrom(0, 1, 16_384),
});

export const programs = fc.record({ writing, reading });
export type Program = typeof programs extends fc.Arbitrary<infer P> ? P : never;

/** What a program has observed. */
export interface Observed {
  /** Of the bytes that were read. */
  readonly length: number;
  readonly hash: string;
  /** The codes of chunks that were refused. */
  readonly refused: readonly string[];
  readonly ofWriter: readonly string[];
  readonly ofReader: readonly string[];
}

const eventsOf = (stream: Readable | Writable, names: readonly string[]): string[] => {
  const seen: string[] = [];
  for (const name of names) stream.on(name, () => seen.push(name));
  return seen;
};

async function write(writable: Writable, { writing }: Program): Promise<string[]> {
  const refused: string[] = [];
  if ('chunks' in writing && writing.how === 'pipeline') {
    const { highWaterMark, chunks } = writing;
    await pipeline(Readable.from(chunks.map(chunkValue), { highWaterMark }), writable);
    return refused;
  }
  if ('chunks' in writing) {
    const writer = Writable.toWeb(writable).getWriter();
    for (const chunk of writing.chunks) await writer.write(chunkValue(chunk));
    await writer.close();
    return refused;
  }
  const attempt = (use: () => unknown) => {
    try {
      use();
    } catch (error) {
      refused.push(String((error as NodeJS.ErrnoException).code));
    }
  };
  for (const each of writing.steps) {
    if (each === 'turn') await turn();
    else if (typeof each === 'string') writable[each]();
    else attempt(() => writable.write(chunkValue(each), each.encoding));
  }
  for (let i = 0; i < writing.steps.length; i++) writable.uncork();
  const { last } = writing;
  if (last === undefined) writable.end();
  else attempt(() => writable.end(chunkValue(last), last.encoding));
  await finished(writable, { readable: false });
  return refused;
}

async function read(readable: Readable, { reading }: Program): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  const { how, highWaterMark } = reading;
  const sink = () =>
    new Writable({
      highWaterMark,
      write: (chunk, _encoding, callback) => {
        parts.push(chunk);
        setImmediate(callback);
      },
    });
  switch (how) {
    case 'data':
      readable.on('data', (part) => parts.push(part));
      break;
    case 'paused':
      readable.on('data', (part) => {
        parts.push(part);
        readable.pause();
        setImmediate(() => readable.resume());
      });
      break;
    case 'read':
      readable.on('readable', () => {
        for (let part = readable.read(7); part !== null; part = readable.read(7)) parts.push(part);
        for (let part = readable.read(); part !== null; part = readable.read()) parts.push(part);
      });
      break;
    case 'iterator':
      for await (const part of readable) parts.push(part);
      break;
    case 'web':
      for await (const part of Readable.toWeb(readable, { strategy: { highWaterMark } }))
        parts.push(part as Uint8Array);
      break;
    case 'pipeline':
      await pipeline(readable, sink());
      break;
    default:
      await pipeline(
        readable.compose(async function* (source: AsyncIterable<Uint8Array>) {
          yield* source;
        }),
        sink(),
      );
  }
  await finished(readable, { writable: false });
  return Buffer.concat(parts);
}

// A socket, as in node:net, is closed a turn before it says so.
const closed = async (stream: Readable | Writable, seen: readonly string[]) => {
  if (!seen.includes('close')) await new Promise((resolve) => stream.once('close', resolve));
};

/** Runs the writer and the reader of a program. */
export async function observe(ends: Ends, program: Program): Promise<Observed> {
  const { writable } = ends;
  const ofWriter = eventsOf(writable, ['finish', 'error', 'close']);
  const writing = write(writable, program);
  writing.catch(() => {});
  if (ends.isLater) await writing;
  const readable = await ends.readable();
  const ofReader = eventsOf(readable, ['end', 'error', 'close']);
  const [refused, bytes] = await Promise.all([writing, read(readable, program)]);
  await Promise.all([closed(readable, ofReader), closed(writable, ofWriter)]);
  const hash = createHash('sha256').update(bytes).digest('hex');
  return { length: bytes.length, hash, refused, ofWriter, ofReader };
}
