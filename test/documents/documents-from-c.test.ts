// docs/from-c.md names every call that the installed headers of libfabric declare.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cap, getInfo } from 'libfabric';
import { expect, test } from 'vitest';
import { textOf } from '../support/documents.js';

const flags = ['--variable=includedir', 'libfabric'];
const include = join(execFileSync('pkg-config', flags, { encoding: 'utf8' }).trim(), 'rdma');
const headers = readdirSync(include).filter((name) => /^fi\w*\.h$|^fabric\.h$/.test(name));

// A declaration or definition starts a line, or follows its type on the line.
const DECLARED = /^(?:[a-z][\w *]*[ *])?(fi_\w+)\(/gm;

test('from-c.md names every call of the headers', () => {
  const documented = new Set(textOf('docs/from-c.md').match(/\bfi_\w+/g));
  const calls = headers.flatMap((name) => {
    const text = readFileSync(join(include, name), 'utf8');
    return [...text.matchAll(DECLARED)].map((match) => match[1] as string);
  });
  expect(calls).toContain('fi_tsenddata');
  expect([...new Set(calls)].filter((call) => !documented.has(call))).toEqual([]);
});

/** Returns the providers of this machine that offer a capability. */
const offering = (cap: Cap) => {
  const names = getInfo({ caps: [cap] }).map(({ fabricAttr }) => fabricAttr.provName ?? '');
  return new Set(names.map((name) => name.split(';').at(-1)));
};

test('only sockets has triggered operations, and only rxm collectives, as from-c.md says', () => {
  expect([...offering('FI_TRIGGER')]).toEqual(['sockets']);
  expect([...offering('FI_COLLECTIVE')]).toEqual(['ofi_rxm']);
});
