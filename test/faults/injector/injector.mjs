// Builds the preloaded library of this folder, and plans which calls of libfabric fail in a process.
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../../../', import.meta.url));
const addon = join(root, 'build/Release/libfabric.node');

/** The kinds of calls, in the order of Kind in plan.h. `space` is a query of the free space in /dev/shm. */
export const KINDS = [
  'query',
  'open',
  'bind',
  'enable',
  'option',
  'insert',
  'register',
  'post',
  'read',
  'wait',
  'cancel',
  'close',
  'space',
];

const timeOf = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const output = (command, args) =>
  execFileSync(command, args, { encoding: 'utf8', cwd: root }).trim();

/** Builds the library if it is older than its sources or the addon. Returns its path. */
export function buildInjector() {
  const folder = join(root, 'build/faults');
  const library = join(folder, 'injector.so');
  const sources = readdirSync(here).map((file) => join(here, file));
  if (timeOf(library) > Math.max(...sources.map(timeOf), timeOf(addon))) return library;
  mkdirSync(folder, { recursive: true });
  const symbols = output('nm', ['-D', addon]);
  const versionOf = (name) => symbols.match(new RegExp(`U ${name}@+(\\S+)`))?.[1];
  const includes = output(process.execPath, ['scripts/libfabric-flags.mjs', '--cflags']);
  const args = [
    ...['-std=c++17', '-O1', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC'],
    ...includes.split(' ').filter((flag) => flag !== ''),
    ...['fi_getinfo', 'fi_fabric'].map((name) => `-DVERSION_OF_${name}="${versionOf(name)}"`),
    ...sources.filter((file) => file.endsWith('.cc')),
    '-ldl',
  ];
  const made = `${library}.${process.pid}`;
  execFileSync('g++', ['-o', made, ...args]);
  renameSync(made, library); // test files may build it at the same time
  return library;
}

/** The errno of a code such as FI_ENOMEM. */
export const errnoOf = (code) =>
  ({ FI_EOPBADSTATE: 258, FI_EAVAIL: 259 })[code] ?? constants.errno[code.slice(3)];

const ENTRY = 64; // bytes: Entry in plan.h
const FIELDS = ['calls', 'first', 'times', 'chance', 'seed', 'error', 'failed'];
const made = new Set();
process.once('exit', () => {
  for (const path of made) rmSync(path, { force: true });
});

/** The plan of one process, in a file that both sides have open. */
export class Injector {
  #path;
  #file;

  /** @param path the file of another process's Injector. If omitted, a new one. */
  constructor(path) {
    this.#path = path ?? join(tmpdir(), `libfabric-faults-${process.pid}-${made.size}`);
    this.#file = openSync(this.#path, path === undefined ? 'w+' : 'r+');
    if (path !== undefined) return;
    made.add(this.#path);
    ftruncateSync(this.#file, KINDS.length * ENTRY);
  }

  /** The environment of a process whose calls fail as planned, from that of a process without. */
  environment(env) {
    // The runtime of a sanitizer must be the first.
    const preloaded = [env.LD_PRELOAD, buildInjector()].filter(Boolean).join(' ');
    return { ...env, LD_PRELOAD: preloaded, LIBFABRIC_FAULTS: this.#path };
  }

  /** No call fails from now on. All counts begin at 0. */
  reset() {
    writeSync(this.#file, Buffer.alloc(KINDS.length * ENTRY), 0, KINDS.length * ENTRY, 0);
  }

  /** The first-th call from the reset, and `times - 1` further ones, fail with the error. */
  fail(kind, first, error, times = 1) {
    this.#write(kind, { first, times, error: errnoOf(error) });
  }

  /** Of a million calls, this many fail. The seed chooses them. */
  draw(kind, chance, error, seed) {
    this.#write(kind, { chance, error: errnoOf(error), seed });
  }

  /** The number of calls of a kind, and the number of those that failed. */
  counts(kind) {
    const fields = new BigUint64Array(ENTRY / 8);
    readSync(this.#file, fields, 0, ENTRY, KINDS.indexOf(kind) * ENTRY);
    const value = (name) => Number(fields[FIELDS.indexOf(name)]);
    return { calls: value('calls'), failed: value('failed') };
  }

  close() {
    closeSync(this.#file);
  }

  #write(kind, values) {
    for (const [name, value] of Object.entries(values)) {
      const at = KINDS.indexOf(kind) * ENTRY + FIELDS.indexOf(name) * 8;
      writeSync(this.#file, BigInt64Array.of(BigInt(value)), 0, 8, at);
    }
  }
}
