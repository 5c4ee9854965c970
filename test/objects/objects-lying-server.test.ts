// libfabric/objects: answers with the status of a success that are none, such as those of a proxy. Each call rejects with a
// code, and takes no more bytes than it needs.
import type { ObjectClient } from 'libfabric/objects';
import { describe, expect, test } from 'vitest';
import {
  type Answer,
  endless,
  foreignClient,
  listed,
  listOf,
  OBJECT,
  says,
} from '../support/foreign-server.js';

const MIB = 2 ** 20;
const WAYS = { 'node:http': {}, fetch: { fetch } };

async function all(pieces: AsyncIterable<unknown>) {
  const taken: unknown[] = [];
  for await (const piece of pieces) taken.push(piece);
  return taken;
}

type Call = (client: ObjectClient) => Promise<unknown>;

async function* long() {
  for (let i = 0; i < 9; i++) yield Buffer.alloc(MIB);
}
const range = { start: 5, end: 10 };
const PUT: Call = (client) => client.put('a', 'x');
const UPLOAD: Call = (client) => client.put('a', long());
const LIST: Call = (client) => all(client.list());
const HEAD: Call = (client) => client.head('a');
const DELETE: Call = (client) => client.delete('a');
const CREATE: Call = (client) => client.createBucket();
const GET: Call = (client) => client.get('a');
const STREAM: Call = (client) => all(client.stream('a'));
const GETS: readonly Call[] = [
  GET,
  STREAM,
  (client) => client.get('a', { into: new Uint8Array(99) }),
];
const RANGES: readonly Call[] = [
  (client) => client.get('a', { range }),
  (client) => client.get('a', { range, into: new Uint8Array(5) }),
  (client) => all(client.stream('a', { range })),
];

const html = '<html><body>log in</body></html>';
const failed = '<?xml version="1.0"?>\n<Error><Code>SlowDown</Code></Error>';

/** The answers of a multipart upload. */
const upload =
  ({
    created = says(
      200,
      {},
      '<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>',
    ),
    part = says(200, { etag: '"p"' }),
    completed = '<CompleteMultipartUploadResult><ETag>"z"</ETag></CompleteMultipartUploadResult>',
  }: {
    created?: Answer;
    part?: Answer;
    completed?: string;
  } = {}): Answer =>
  (request, response) => {
    const { method, url } = request;
    if (method === 'PUT') part(request, response);
    else if (method === 'DELETE') response.writeHead(204).end();
    else if (url?.includes('?uploads')) created(request, response);
    else response.end(completed);
  };

const part = (content: string, body = 'fghij') =>
  says(206, { ...OBJECT, 'content-range': content }, body);

let page = 0;
const cycle: Answer = (_request, response) => {
  const next = ['a', 'b', 'c'][page++ % 3];
  response.end(listOf(`<NextContinuationToken>${next}</NextContinuationToken>`, 'true'));
};

const lies: [string, Answer, readonly Call[], code?: string][] = [
  ['an upload whose completion is empty', upload({ completed: '' }), [UPLOAD]],
  ['an upload whose completion is HTML', upload({ completed: html }), [UPLOAD]],
  [
    'an upload whose completion is an error',
    upload({ completed: `  \n${failed}` }),
    [UPLOAD],
    'SlowDown',
  ],
  [
    'an upload whose completion has no ETag',
    upload({ completed: '<CompleteMultipartUploadResult></CompleteMultipartUploadResult>' }),
    [UPLOAD],
  ],
  ['an upload without an id', upload({ created: says(200, {}) }), [UPLOAD]],
  [
    'an upload with an empty id',
    upload({
      created: says(
        200,
        {},
        '<InitiateMultipartUploadResult><UploadId></UploadId></InitiateMultipartUploadResult>',
      ),
    }),
    [UPLOAD],
  ],
  ['a part without an ETag', upload({ part: says(200, {}) }), [UPLOAD]],
  ['a PUT without an ETag', says(200, {}, html), [PUT]],
  ['HTML in place of nothing', says(200, OBJECT, html), [DELETE, CREATE]],
  ['a text in place of nothing', says(200, OBJECT, 'welcome'), [DELETE, CREATE]],
  ['an error in place of nothing', says(200, OBJECT, failed), [DELETE, CREATE], 'SlowDown'],
  ['a list that is empty', says(200, {}), [LIST]],
  ['a list that is HTML', says(200, {}, html), [LIST]],
  ['a list that is HTML with its name', says(200, {}, `<!DOCTYPE html>${listOf('')}`), [LIST]],
  ['a list that is an error', says(200, {}, failed), [LIST], 'SlowDown'],
  ['a list that is cut off', says(200, {}, listOf(listed('a')).slice(0, -9)), [LIST]],
  ['a list with a comment', says(200, {}, listOf(`<!-- ${listed('a')} -->`)), [LIST]],
  ['a list that is more or less whole', says(200, {}, listOf('', 'maybe')), [LIST]],
  ['a list with more pages and no token', says(200, {}, listOf('', 'true')), [LIST]],
  ['a list whose pages repeat', cycle, [LIST]],
  ['a list with an object without a key', says(200, {}, listOf(listed(''))), [LIST]],
  [
    'a list with an object without a size',
    says(200, {}, listOf(listed('a', { Size: '' }))),
    [LIST],
  ],
  ['a list with a negative size', says(200, {}, listOf(listed('a', { Size: '-5' }))), [LIST]],
  ['a list without an ETag', says(200, {}, listOf(listed('a', { ETag: '' }))), [LIST]],
  [
    'a list with a malformed date',
    says(200, {}, listOf(listed('a', { LastModified: 'zz' }))),
    [LIST],
  ],
  [
    'a list with an empty prefix',
    says(200, {}, listOf('<CommonPrefixes></CommonPrefixes>')),
    [LIST],
  ],
  [
    'an object without an ETag',
    says(200, { 'last-modified': OBJECT['last-modified'] }, html),
    [...GETS, HEAD],
  ],
  ['an object without a date', says(200, { etag: '"a"', 'content-length': 3 }, 'abc'), [GET, HEAD]],
  [
    'an object with a malformed date',
    says(200, { ...OBJECT, 'last-modified': 'zz' }, 'abc'),
    [GET, HEAD],
  ],
  [
    'a description without a length',
    says(200, { ...OBJECT, 'transfer-encoding': 'chunked' }),
    [HEAD],
  ],
  ['no content', says(204, OBJECT), [...GETS, HEAD]],
  ['a part of an object', part('bytes 5-9/20'), GETS],
  ['another range', part('bytes 0-4/20'), RANGES],
  ['a range without its place', says(206, OBJECT, 'fghij'), RANGES],
  ['a range that is shorter', part('bytes 5-8/20', 'fghi'), RANGES],
  ['a range that is longer', part('bytes 5-10/20', 'fghijk'), RANGES],
  ['a range that is behind the end', part('bytes 5-9/7'), RANGES],
  ['a range of an unknown object', part('bytes 5-9/*'), RANGES],
  ['a range of a negative object', part('bytes 5-9/-1'), RANGES],
  ['a range with fewer bytes', part('bytes 5-9/20', 'fg'), RANGES],
  ['a range with more bytes', part('bytes 5-9/20', 'fghijk'), RANGES],
  [
    'the whole object, of 5 bytes, for a range',
    says(200, { ...OBJECT, 'content-length': 5 }, 'abcde'),
    RANGES,
    'InvalidRange',
  ],
  [
    'the whole object for a range, without a length',
    says(200, { ...OBJECT, 'transfer-encoding': 'chunked' }, 'abcdefghijklmn'),
    RANGES.slice(0, 2),
  ],
  [
    'an error whose code is a page',
    says(500, {}, `<Error><Code>${'A'.repeat(99_999)}</Code></Error>`),
    [GET, PUT, LIST],
    'Http500',
  ],
  [
    'an error whose code has two lines',
    says(500, { 'x-libfabric-error': 'x y' }, '<Error><Code>A&#10;B</Code></Error>'),
    [GET, DELETE],
    'Http500',
  ],
];

describe.each(Object.entries(WAYS))('%s', (_way, options) => {
  test.each(lies)('%s', async (_what, answer, calls, code = 'InvalidAnswer') => {
    const client = await foreignClient(answer, options);
    for (const call of calls) await expect(call(client)).rejects.toMatchObject({ code });
  });

  // 8 MiB of text, what fills the buffers of both ends, and the memory that was offered.
  const limited: [
    string,
    number,
    Record<string, string | number>,
    Call,
    code: string,
    first?: string,
  ][] = [
    ['list()', 200, {}, LIST, 'InvalidAnswer', '<ListBucketResult>'],
    ['an error', 500, {}, GET, 'InvalidAnswer'],
    ['an object that is not there', 404, {}, STREAM, 'InvalidAnswer'],
    ['put()', 200, { etag: '"a"' }, PUT, 'InvalidAnswer'],
    ['put() of a stream', 200, { etag: '"a"' }, UPLOAD, 'InvalidAnswer'],
    ['delete()', 200, {}, DELETE, 'InvalidAnswer'],
    ['createBucket()', 200, {}, CREATE, 'InvalidAnswer'],
    [
      'get() of more than memory',
      200,
      { ...OBJECT, 'content-length': '9999999999999999' },
      GET,
      'ERR_OUT_OF_RANGE',
    ],
    ['get() into less memory', 200, OBJECT, GETS[2] as Call, 'ERR_OUT_OF_RANGE'],
    [
      'get() of a range',
      206,
      { ...OBJECT, 'content-range': 'bytes 5-9/20' },
      RANGES[0] as Call,
      'InvalidAnswer',
    ],
    [
      'stream() of a range',
      206,
      { ...OBJECT, 'content-range': 'bytes 5-9/20' },
      RANGES[2] as Call,
      'InvalidAnswer',
    ],
  ];

  test.each(limited)(
    '%s takes no endless answer',
    async (_what, status, headers, call, code, first) => {
      const { answer, sent } = endless(status, headers, first);
      const client = await foreignClient(answer, options);
      await expect(call(client)).rejects.toMatchObject({ code });
      expect(sent()).toBeLessThan(48 * MIB);
    },
  );
});

test('what a server says of an error is one line of at most 1024 characters', async () => {
  const text = `a\n\u0007b${'c'.repeat(5000)}`;
  const xml = `<Error><Code>Odd.Code-1</Code><Message>${text}</Message></Error>`;
  const client = await foreignClient(says(500, {}, xml));
  const error = await client.get('k').catch((reason) => reason);
  expect(error).toMatchObject({ code: 'Odd.Code-1', status: 500 });
  expect(error.message).toMatch(/^Odd.Code-1: a b+c{1000,1024}, 'k'$/);
});
