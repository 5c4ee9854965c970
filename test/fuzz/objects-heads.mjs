// Heads of requests of an object server: the target, the fields, the conditions, ranges and checksums; and bodies that the server
// reads: aws-chunked with trailers, and the parts of an upload. An input is a line with the method and the target, lines of
// fields, an empty line, and the body. Its first byte is the length of the pieces in which the body arrives.
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { targetOf, wrongKey } from '../../dist/objects/keys.js';
import { etagOf } from '../../dist/objects/versions.js';
import { fuzz } from './support/loop.mjs';
import { CONTENT, MemoryFolder, serviceOf, VERSION } from './support/object-store.mjs';

const ETAG = etagOf(VERSION);
const UPLOAD = '01234567-89ab-cdef-0123-456789abcdef';
const PART = `<Part><PartNumber>1</PartNumber><ETag>&quot;${UPLOAD}&quot;</ETag></Part>`;
const CHUNKS = '4;chunk-signature=ab\r\nabcd\r\n10\r\n0123456789abcdef\r\n0\r\n';

const seeds = [
  '\x00GET /b/a\n\n',
  '\x00GET /b/a\nrange: bytes=1-9\nif-range: "x"\n\n',
  '\x00GET /b/a\nrange: bytes=-9\nx-amz-checksum-mode: ENABLED\n\n',
  `\x00GET /b/a\nif-match: ${ETAG}, "b"\nif-none-match: W/"c", *\nx-libfabric-checksum: crc64nvme\n\n`,
  '\x00HEAD /b/a\nif-modified-since: Wed, 14 Nov 2023 22:13:20 GMT\nif-unmodified-since: 0\n\n',
  '\x00GET /b/a\nx-libfabric-inline: 0\nx-libfabric-checksum: sha256\n\n',
  '\x00DELETE /b/%61?x=1\nif-match: *\n\n',
  '\x00PUT /b/c%2Fd\nif-none-match: *\ncontent-md5: aaaa\nx-amz-checksum-crc32: a\n\nbytes',
  `\x03PUT /b/c\ncontent-encoding: aws-chunked\nx-amz-decoded-content-length: 20\nx-amz-trailer: x-amz-checksum-sha1\n\n${CHUNKS}x-amz-checksum-sha1:ab\r\n\r\n`,
  `\x07PUT /b/c\nx-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER\nx-amz-decoded-content-length: 20\n\n${CHUNKS}\r\n`,
  '\x00PUT /b/c\nx-amz-copy-source: /b/a\n\n',
  '\x00POST /b/c?uploads\n\n',
  `\x00PUT /b/c?partNumber=1&uploadId=${UPLOAD}\n\nbytes`,
  `\x05POST /b/c?uploadId=1\nx-amz-checksum-crc64nvme: AAAAAAAAAAA=\n\n<C>${PART}${PART}</C>`,
  `\x00DELETE /b/c?uploadId=${UPLOAD}\n\n`,
  '\x00GET /b?list-type=2&prefix=%26&delimiter=/&max-keys=9&continuation-token=YQ&encoding-type=url\n\n',
  '\x00GET /b?marker=<&prefix=a&max-keys=2000\n\n',
  '\x00GET /b?location\n\n',
  '\x00PUT /bucket.-_\n\n',
  '\x00HEAD /b\n\n',
  '\x00GET /\n\n',
  '\x00GET /.libfabric\nx-libfabric-address: wQ\n\n',
  '\x00GET /b/a?acl\n\n',
];

const words = [
  ...[
    '%',
    '%00',
    '%2e%2e/',
    '..',
    '//',
    '?',
    '&',
    '=',
    '\n',
    '\r\n',
    '\r\n\r\n',
    '"',
    "'",
    '<',
    '>',
  ],
  ...['W/"', '*', ',', ';', '-', 'bytes=', 'range: ', 'if-match: ', 'if-range: ', '<!', '&#x0;'],
  ...['&#1114112;', '&amp;', '<Part>', '</Part>', '<ETag>', 'uploadId=', 'partNumber=', 'versions'],
  ...['__proto__: a\n', 'constructor', '\u00ff', '%f0%9f%98%80', '%ed%a0%80', ETAG, '0\r\n', '   '],
];

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'];

function requestOf(input) {
  const text = input.toString('latin1', 1);
  const end = text.indexOf('\n\n');
  const [start = '', ...lines] = (end < 0 ? text : text.slice(0, end)).split('\n');
  const space = start.indexOf(' ');
  const fields = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon > 0) fields[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const body = end < 0 ? Buffer.alloc(0) : input.subarray(1 + end + 2);
  return { method: start.slice(0, space), url: start.slice(space + 1), fields, body };
}

async function* inPieces(bytes, length) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

const quietly = (work) => work();
const signal = new AbortController().signal;

async function answered({ method, url, fields, body }, length) {
  const folder = new MemoryFolder();
  const pieces = length === 0 ? body : inPieces(body, length);
  const request = {
    method,
    url,
    fields,
    body: pieces,
    connection: {},
    source: '',
    signal,
    quietly,
  };
  const answer = await serviceOf(folder).handle(request);
  return { answer, stored: Buffer.concat(folder.written) };
}

const claim = (holds, what) => {
  if (!holds) throw new Error(what);
};

const WRONG =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML cannot have them
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|&(?!(amp|lt|gt|quot|apos|#x[\dA-F]{1,4});)/;

function checkXml(xml) {
  claim(!WRONG.test(xml), `XML has what it cannot have: ${xml}`);
  const open = [];
  for (const [, slash, name] of xml.slice(xml.indexOf('\n')).matchAll(/<(\/?)(\w*)[^>]*>/g)) {
    if (slash === '') open.push(name);
    else claim(open.pop() === name, `elements of XML do not match: ${xml}`);
  }
  claim(open.length === 0, `XML has no end: ${xml}`);
}

function checkAnswer({ method, url }, { status, fields, body }) {
  claim(Number.isInteger(status) && status >= 200 && status < 600 && status !== 500, `${status}`);
  for (const [name, value] of Object.entries(fields)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  if (fields['content-type'] === 'application/xml') checkXml(body);
  if (status === 206 && method === 'GET') {
    const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(fields['content-range']);
    claim(Number(size) === CONTENT.length, 'the size of a range');
    if (body) claim(CONTENT.subarray(Number(first), Number(last) + 1).join() === body.join(), url);
  }
}

async function execute(input) {
  const request = requestOf(input);
  const { answer, stored } = await answered(request, 0);
  checkAnswer(request, answer);
  if (request.body.length > 0 && input[0] > 0) {
    const again = await answered(request, input[0]);
    claim(again.answer.status === answer.status, 'pieces change the status');
    if (answer.status === 200) claim(again.stored.equals(stored), 'pieces change the bytes');
  }
  try {
    const { key } = targetOf(request.url);
    claim(key === '' || wrongKey(key) === undefined, 'a wrong key');
  } catch {
    claim(answer.status !== 200 || request.url === '/.libfabric', 'a wrong target');
  }
  const method = METHODS.includes(request.method) ? request.method : 'another';
  const [, code] = /<Code>(\w*)</.exec(typeof answer.body === 'string' ? answer.body : '') ?? [];
  return `${method} ${answer.status} ${code} ${Object.keys(answer.fields)}`;
}

await fuzz('objects-heads', { seeds, words, execute });
