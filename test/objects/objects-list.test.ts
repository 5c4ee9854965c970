// libfabric/objects: lists of keys, compared with a sorted array.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import type { ListOptions } from 'libfabric/objects';
import { expect, test } from 'vitest';
import { randomWords } from '../support/bytes.js';
import { serve } from '../support/object-stores.js';

const bytes = (text: string) => Buffer.from(text);
const sorted = (keys: Iterable<string>) =>
  [...keys].sort((a, b) => Buffer.compare(bytes(a), bytes(b)));

/** What a list has, by definition. */
function expected(keys: readonly string[], options: ListOptions): string[] {
  const { prefix = '', delimiter = '', startAfter = '' } = options;
  const entries = sorted(keys)
    .filter((key) => key.startsWith(prefix))
    .filter((key) => Buffer.compare(bytes(key), bytes(startAfter)) > 0)
    .map((key) => {
      const at = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
      return at < 0 ? key : key.slice(0, at + delimiter.length);
    });
  return [...new Set(entries)];
}

async function prepared(keys: readonly string[]) {
  const { folder, connect } = await serve(undefined);
  for (const key of keys) {
    mkdirSync(dirname(join(folder, key)), { recursive: true });
    writeFileSync(join(folder, key), key);
  }
  const client = await connect();
  const list = async (options: ListOptions = {}) => {
    const found: string[] = [];
    for await (const { key } of client.list(options)) found.push(key);
    return found;
  };
  return { folder, client, list };
}

test('lists have the keys in the order of their bytes, by prefix, delimiter and page', async () => {
  const next = randomWords(7);
  const names = ['a', 'b', 'a-', 'a.', 'ab', 'é', '😀', '\uffee', '0', 'z', 'B'];
  const pick = () => names[next() % names.length] as string;
  const keys = new Set<string>();
  for (let i = 0; i < 60; i++) {
    const key = Array.from({ length: 1 + (next() % 3) }, pick).join('/');
    const isFree = [...keys].every(
      (each) => !each.startsWith(`${key}/`) && !key.startsWith(`${each}/`),
    );
    if (isFree) keys.add(key);
  }
  const { list } = await prepared([...keys]);
  const all = [...keys];
  for (const prefix of ['', 'a', 'a/', 'a/b', 'é/', 'nothing'])
    for (const delimiter of ['', '/', '-'])
      for (const pageSize of [1, 7, 1000]) {
        const options = { prefix, delimiter, pageSize };
        const found = await list(options);
        expect([options, sorted(found)]).toEqual([options, sorted(expected(all, options))]);
      }
  for (const startAfter of ['a', 'a/', 'a/b', '😀'])
    expect(await list({ startAfter, pageSize: 3 })).toEqual(expected(all, { startAfter }));
  for (const key of all)
    for (const startAfter of [key, `${key}~`])
      for (const delimiter of ['/', '-']) {
        const options = { startAfter, delimiter };
        const found = await list(options);
        expect([options, sorted(found)]).toEqual([options, sorted(expected(all, options))]);
      }
});

test('a prefix that no key can have is an empty list', async () => {
  const { client, list } = await prepared(['a/b', 'c']);
  const impossible = [
    '../',
    '..',
    '//',
    '/',
    'a//',
    'a/../',
    './c',
    `${'x'.repeat(300)}/`,
    'y/'.repeat(600),
  ];
  for (const prefix of impossible) {
    expect(await list({ prefix }), prefix).toEqual([]);
    expect(await list({ prefix, delimiter: '/' }), prefix).toEqual([]);
    const query = new URLSearchParams({ prefix });
    expect((await fetch(`${client.url}?${query}`)).status, prefix).toBe(200);
    const missing = await fetch(`${client.url}x?${query}`);
    expect([missing.status, await missing.text()]).toEqual([
      404,
      expect.stringContaining('NoSuchBucket'),
    ]);
  }
});

test('entries describe their objects, and folders without objects are no prefixes', async () => {
  const { folder, client } = await prepared(['a/b', 'c']);
  mkdirSync(join(folder, 'empty/of/folders'), { recursive: true });
  symlinkSync('a', join(folder, 'link'));
  writeFileSync(Buffer.concat([bytes(`${folder}/`), Buffer.from([0xff, 0xfe])]), 'no UTF-8');
  const entries = [];
  for await (const entry of client.list({ delimiter: '/' })) entries.push(entry);
  const { etag, lastModified, size } = await client.head('c');
  expect(entries).toEqual([
    { type: 'object', key: 'c', size, etag, lastModified: expect.any(Date) },
    { type: 'prefix', key: 'a/' },
  ]);
  expect(size).toBe(1);
  expect(lastModified.getTime()).toBeGreaterThan(0);
});

test('a prefix is listed only if one of its keys is after the start, in both kinds of list', async () => {
  const { client } = await prepared(['f/a', 'f/b', 'g/a', 'g/sub/z', 'h_1', 'h_2']);
  const cases: [start: string, query: string, entries: string][] = [
    ['f/a', 'delimiter=/', 'h_1 h_2 f/ g/'],
    ['f/b', 'delimiter=/', 'h_1 h_2 g/'],
    ['f/zzz', 'delimiter=/', 'h_1 h_2 g/'],
    ['f0', 'delimiter=/', 'h_1 h_2 g/'],
    ['g/sub/y', 'delimiter=/&prefix=g/', 'g/sub/'],
    ['g/sub/z', 'delimiter=/&prefix=g/', ''],
    ['g/sub/zz', 'delimiter=/', 'h_1 h_2'],
    ['h_1', 'delimiter=_', 'h_'],
    ['h_2', 'delimiter=_', ''],
    ['h_2', 'delimiter=/', ''],
  ];
  for (const [start, query, entries] of cases)
    for (const kind of ['list-type=2&start-after', 'marker']) {
      const xml = await (await fetch(`${client.url}?${kind}=${start}&${query}`)).text();
      const found = [...xml.matchAll(/<(?:Key|CommonPrefixes><Prefix)>(.*?)</g)].map(
        ([, key]) => key,
      );
      expect([kind, start, query, found.join(' ')]).toEqual([kind, start, query, entries]);
    }
});

test('a list with an unknown kind, encoding or number is refused', async () => {
  const { client } = await prepared(['a']);
  const queries = [
    ...['list-type=3', 'list-type=', 'list-type=02', 'encoding-type=foo', 'encoding-type=URL'],
    ...['1e1', '0x2', '+3', ' 4', '5.0', '-1', '', 'all'].map(
      (number) => `max-keys=${encodeURIComponent(number)}`,
    ),
  ];
  for (const query of queries) {
    const response = await fetch(`${client.url}?${query}`);
    const [, code] = /<Code>(.*?)</.exec(await response.text()) ?? [];
    expect([query, response.status, code]).toEqual([query, 400, 'InvalidArgument']);
  }
  expect((await fetch(`${client.url}?list-type=2&encoding-type=url&max-keys=01`)).status).toBe(200);
});

test('a bucket that does not exist has no list', async () => {
  const { connect } = await serve(undefined);
  const client = await connect();
  const { ObjectClient } = await import('libfabric/objects');
  const other = new ObjectClient(client.url.replace(/b$/, 'none'));
  await expect(other.list().next()).rejects.toMatchObject({ code: 'NoSuchBucket', status: 404 });
  await other.close();
});

test('a page has at most 256 KiB, and all pages have all keys', async () => {
  const { url, folder, connect } = await serve(undefined);
  const names = Array.from(
    { length: 600 },
    (_, i) => `${String(i).padStart(4, '0')}${'&'.repeat(240)}`,
  );
  for (const name of names) writeFileSync(join(folder, name), '');
  for (const query of ['list-type=2', 'list-type=2&encoding-type=url', 'prefix=0']) {
    const xml = await (await fetch(`${url}/b?${query}`)).text();
    expect(Buffer.byteLength(xml)).toBeLessThanOrEqual(256 * 1024);
    expect(xml).toContain('<IsTruncated>true</IsTruncated>');
  }
  const found: { key: string }[] = await Readable.from((await connect()).list()).toArray();
  expect(found.map(({ key }) => key)).toEqual(names);
});

test('a list of buckets has at most 1000, and says where the next one begins', async () => {
  const { url, root } = await serve(undefined);
  for (let i = 0; i < 1001; i++) mkdirSync(join(root, `c${i}`));
  const list = async (query: string) => (await fetch(`${url}/?${query}`)).text();
  const first = await list('');
  expect(first.match(/<Name>/g)).toHaveLength(1000);
  const [, token] = /<ContinuationToken>(.*)<\/ContinuationToken>/.exec(first) ?? [];
  const rest = await list(`continuation-token=${token}`);
  expect(rest.match(/<Name>/g)).toHaveLength(2); // and the bucket b
  expect(rest).not.toContain('ContinuationToken');
  expect((await list('prefix=c99&max-buckets=5')).match(/<Name>/g)).toHaveLength(5);
});

test('keys with characters that XML cannot have stay different, in each kind of list', async () => {
  // Not NUL, which no file name has.
  const controls = Array.from({ length: 0x1f }, (_, i) => String.fromCharCode(i + 1));
  const others = [
    '\x7f',
    '\x85',
    '\u2028',
    '\ufffd',
    '\ufffe',
    '\uffff',
    '\ufeff',
    '%01',
    '+',
    '&#x1;',
  ];
  const names = [...controls, ...others].map((character) => `a${character}b`);
  const free = sorted(names.map((name, i) => (i % 2 ? name : `${name}/ ${name} `)));
  const { client, list } = await prepared(free);
  expect(await list()).toEqual(free);
  expect(await list({ pageSize: 1 })).toEqual(free);
  for (const key of free)
    expect(await list({ prefix: key.slice(0, 2) })).toEqual(
      free.filter((each) => each.startsWith(key.slice(0, 2))),
    );
  expect(sorted(await list({ delimiter: '/' }))).toEqual(
    sorted(new Set(free.map((key) => key.replace(/\/[\s\S]*/, '/')))),
  );
  const xml = await (await fetch(`${client.url}?list-type=2`)).text();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML cannot have them
  expect(xml).not.toMatch(/[\u0000-\u0008\u000b-\u001f\ufffe\uffff]/);
  const inXml = [...xml.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, text = '']) =>
    text
      .replace(/&#x([\dA-F]+);/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
      .replaceAll('&amp;', '&'),
  );
  expect(inXml).toEqual(free);
});
