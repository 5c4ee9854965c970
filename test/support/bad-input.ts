import { type Cap, type DriverKind, FabricError, open, type Peer } from 'libfabric';
import { expect } from 'vitest';

/** What a hostile object throws; its code makes it as good as an error of ours. */
export const boom = Object.assign(new Error('boom'), { code: 'ERR_TEST_BOOM' });

function explode(): never {
  throw boom;
}

/** An object whose every property and conversion throws. */
export function explosive(): object {
  const traps: ProxyHandler<object> = { get: explode, has: explode, ownKeys: explode };
  return new Proxy({}, traps);
}

/** Values that are wrong nearly everywhere, by what they are called in a test's name. */
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

/** The junk but for what is right here, by label. */
export function junkBut(...labels: string[]): [string, unknown][] {
  return junk.filter(([label]) => !labels.includes(label)).map(([label, value]) => [label, value]);
}

export type Refusal = Error & { readonly code: string };

/** How a call was refused: thrown, or as a rejected promise. */
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

/** An error that a program can tell by its code. */
export function expectTyped(error: unknown): asserts error is Refusal {
  expect(error).toBeInstanceOf(Error);
  const { code } = error as Refusal;
  if (FabricError.is(error)) expect(code).toMatch(/^FI_|^E[A-Z]+$/);
  else expect(code, String((error as Error).stack)).toMatch(/^ERR_/);
}

/** The call rejects, and throws nothing, with a typed error that names the argument. */
export async function expectRejected(call: () => unknown, names: RegExp = /./): Promise<Refusal> {
  const { how, error } = await refusalOf(call);
  expect(how, error.stack).toBe('rejected');
  expectTyped(error);
  if (error !== boom) expect(error.message).toMatch(names);
  return error;
}

/** The call throws a typed error that names the argument. */
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

/** An endpoint that talks to itself, with everything that it needs for the calls under test. */
export async function openLoopback(options: LoopbackOptions = {}) {
  const { provider = 'shm', driver = 'loop', caps = ALL_OF_SHM } = options;
  const node = provider === 'shm' ? {} : { node: '127.0.0.1' };
  const ep = await open({ provider, driver, caps, ...node });
  return { ep, self: ep.av.insert(ep.address) };
}

type Loopback = Awaited<ReturnType<typeof openLoopback>>;

/** An ordinary transfer still works: nothing was lost or left behind. */
export async function expectWorking(ep: Loopback['ep'], self: Peer): Promise<void> {
  const sent = Uint8Array.of(1, 2, 3, 4);
  const got = new Uint8Array(4);
  const received = ep.recv(got);
  await ep.send(sent, self);
  expect((await received).length).toBe(4);
  expect(got).toEqual(sent);
}
