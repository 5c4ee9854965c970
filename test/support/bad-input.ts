import { type Cap, type DriverKind, FabricError, open, type Peer } from 'libfabric';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Fixtures } from './verbs.js';

/** A hostile object throws this error. Like the errors of this package it has a code. */
export const boom = Object.assign(new Error('boom'), { code: 'ERR_TEST_BOOM' });

function explode(): never {
  throw boom;
}

/** An object whose every property and conversion throws. */
export function explosive(): object {
  const traps: ProxyHandler<object> = { get: explode, has: explode, ownKeys: explode };
  return new Proxy({}, traps);
}

/** Values that are wrong for nearly every parameter, with their labels in the names of tests. */
export const junk: readonly (readonly [label: string, value: unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['{}', {}],
  ['[]', []],
  ['an empty string', ''],
  ['a string', 'FI_MSG'],
  ['true', true],
  ['NaN', Number.NaN],
  ['-1', -1],
  ['-0', -0],
  ['1.5', 1.5],
  ['2^53 + 1', 2 ** 53 + 1],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['2n ** 64n', 2n ** 64n],
  ['-1n', -1n],
  ['a symbol', Symbol('x')],
  ['a function', () => {}],
  ['a proxy', new Proxy({}, {})],
  ['an array of 2^32 - 1 holes', new Array(2 ** 32 - 1)],
  ['an object that throws when it is read', explosive()],
  ['an object that throws when it is converted', { toString: explode, valueOf: explode }],
];

/** Returns the junk without the values of these labels, which are valid here. */
export function junkExcept(...labels: string[]): [string, unknown][] {
  return junk.filter(([label]) => !labels.includes(label)).map(([label, value]) => [label, value]);
}

export type Refusal = Error & { readonly code: string };

/** Reports whether a call threw, rejected, or was accepted. */
export async function refusalOf(
  call: () => unknown,
): Promise<{ how: 'threw' | 'rejected' | 'accepted'; error: Refusal }> {
  let result: unknown;
  try {
    result = call();
  } catch (error) {
    return { how: 'threw', error: error as Refusal };
  }
  try {
    await result;
  } catch (error) {
    return { how: 'rejected', error: error as Refusal };
  }
  return { how: 'accepted', error: new Error('the call was accepted') as Refusal };
}

/** Expects an error that a program can identify by its code. */
export function expectTyped(error: unknown): asserts error is Refusal {
  expect(error).toBeInstanceOf(Error);
  const { code } = error as Refusal;
  if (FabricError.is(error)) expect(code).toMatch(/^FI_|^E[A-Z]+$/);
  else expect(code, String((error as Error).stack)).toMatch(/^ERR_/);
}

/** Expects a call to reject, not throw, with a typed error that names the argument. */
export async function expectRejected(call: () => unknown, names: RegExp = /./): Promise<Refusal> {
  const { how, error } = await refusalOf(call);
  expect(how, error.stack).toBe('rejected');
  expectTyped(error);
  if (error !== boom) expect(error.message).toMatch(names);
  return error;
}

/** Expects a call to throw a typed error that names the argument. */
export async function expectThrown(call: () => unknown, names: RegExp = /./): Promise<Refusal> {
  const { how, error } = await refusalOf(call);
  expect(how, error.stack).toBe('threw');
  expectTyped(error);
  if (error !== boom) expect(error.message).toMatch(names);
  return error;
}

export interface LoopbackOptions {
  readonly provider?: string;
  readonly driver?: DriverKind;
  readonly caps?: readonly Cap[];
}

const ALL_OF_SHM: readonly Cap[] = [
  'FI_MSG',
  'FI_TAGGED',
  'FI_RMA',
  'FI_ATOMIC',
  'FI_MULTI_RECV',
  'FI_DIRECTED_RECV',
  'FI_SOURCE',
];

/** Opens an endpoint that is its own peer, with the capabilities that the calls under test need. */
export async function openLoopback(options: LoopbackOptions = {}) {
  const { provider = 'shm', driver = 'loop', caps = ALL_OF_SHM } = options;
  const node = provider === 'shm' ? {} : { node: '127.0.0.1' };
  const ep = await open({ provider, driver, caps, ...node });
  return { ep, self: ep.av.insert(ep.address) };
}

type Loopback = Awaited<ReturnType<typeof openLoopback>>;

/** Opens a loopback before the tests of a file, and closes it after them. */
export function loopbackOfFile(options?: LoopbackOptions): Loopback {
  const loopback = {} as Loopback;
  beforeAll(async () => {
    Object.assign(loopback, await openLoopback(options));
  });
  afterAll(async () => {
    await loopback.ep.close();
  });
  return loopback;
}

/** Allocates the memory that the calls of a loopback need, before the tests of a file. */
export function fixturesOfFile(loopback: Loopback, bytes: number): Fixtures {
  const fixtures = {} as { -readonly [Key in keyof Fixtures]: Fixtures[Key] };
  beforeAll(async () => {
    const { ep, self } = loopback;
    const region = await ep.domain.allocate(bytes, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
    Object.assign(fixtures, { self, region, remote: ep.domain.remote(region.descriptor()) });
  });
  return fixtures;
}

/** Checks that an ordinary transfer still works: no message is missing, and none is left over. */
export async function expectWorking(ep: Loopback['ep'], self: Peer): Promise<void> {
  const sent = Uint8Array.of(1, 2, 3, 4);
  const got = new Uint8Array(4);
  const received = ep.recv(got);
  await ep.send(sent, self);
  expect((await received).length).toBe(4);
  expect(got).toEqual(sent);
}
