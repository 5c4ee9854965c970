// Tables of options and arguments of libfabric/transfer, libfabric/objects, libfabric/directory and libfabric/http, and values
// of every other type.
import { StoredDirectory } from 'libfabric/directory';
import { transferClient, transferServer } from 'libfabric/http';
import { ObjectClient } from 'libfabric/objects';
import { TransferEngine } from 'libfabric/transfer';
import { afterAll, beforeAll, expect, test } from 'vitest';

// biome-ignore lint/suspicious/noExplicitAny: the tests pass values that the types forbid
export type Any = any;

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const VALUES: Readonly<Record<string, unknown>> = {
  null: null,
  true: true,
  NaN: Number.NaN,
  '-1': -1,
  '1.5': 1.5,
  '2^53': 2 ** 53,
  '1n': 1n,
  'an empty string': '',
  'a NUL': '\0',
  'a string': 'x y',
  'a symbol': Symbol('x'),
  'a function': () => {},
  '[]': [],
  '[null]': [null],
  '{}': {},
  'a revoked proxy': revoked(),
};

// What each type accepts.
export const STRING = ['a string'];
export const ANY_STRING = ['a string', 'an empty string'];
export const MILLISECONDS = ['1.5'];
export const BOOLEAN = ['true'];
export const FUNCTION = ['a function'];
export const OBJECT = ['{}'];
export const NONE: string[] = [];

export type Row = [
  name: string,
  call: (value: Any) => unknown,
  accepted: readonly string[],
  named?: RegExp,
];

/** A row for each option. */
export const options = (
  what: string,
  call: (given: object) => unknown,
  all: Readonly<Record<string, readonly string[]>>,
): Row[] =>
  Object.entries(all).map(([name, accepted]) => [
    `${name} of ${what}`,
    (value) => call({ [name]: value }),
    accepted,
    new RegExp(`^options\\.${name}`),
  ]);

export const TCP = { provider: 'tcp', node: '127.0.0.1' };
export const store = { name: 'x', put() {}, remove() {}, list: () => [], close() {} };
export const made = {} as Awaited<ReturnType<typeof make>>;

async function make() {
  const [engine, other] = [await TransferEngine.open(TCP), await TransferEngine.open(TCP)];
  const [peer, back] = [await engine.peer(other.address), await other.peer(engine.address)];
  const [memory, theirs] = [await engine.allocate(4096), await other.allocate(4096)];
  const write = await theirs.offer({ access: 'write', to: back });
  const read = await theirs.offer({ access: 'read', to: back });
  const pool = engine.pool({ size: 4096, count: 2 });
  const objects = new ObjectClient('http://127.0.0.1:1/b');
  const directory = new StoredDirectory(store as never);
  const http = transferClient(engine, (async () => new Response()) as typeof fetch);
  const server = transferServer(engine);
  const tokens = { write: write.token, read: read.token };
  return { engine, other, peer, memory, tokens, pool, objects, directory, http, server };
}

export const LIMITS = { signal: NONE, timeout: MILLISECONDS };
export const CONDITIONS = { ifMatch: ANY_STRING, ifNoneMatch: ANY_STRING, signal: NONE };
export const READ = { ...CONDITIONS, range: NONE, checksum: NONE };
export const ALLOCATION = { hugePages: BOOLEAN, shared: BOOLEAN, numaNode: NONE, nics: NONE };
export const response = { setHeader() {} };

const CODES = /^ERR_(INVALID_ARG_(TYPE|VALUE)|OUT_OF_RANGE)$/;
const LATE = {};

/** What is wrong with the answer to a wrong value. */
async function wrongOf([, call, , named = /./]: Row, value: unknown, how: string) {
  let result: unknown;
  let error: Any;
  try {
    result = call(value);
    if (how === 'threw') return 'did not throw';
  } catch (thrown) {
    if (how !== 'threw') return `threw ${thrown}`;
    error = thrown;
  }
  if (how === 'rejected') {
    const settled = Promise.resolve(result).then(
      () => undefined,
      (reason) => ({ reason }),
    );
    const late = new Promise<typeof LATE>((resolve) =>
      setImmediate(() => setImmediate(resolve, LATE)),
    );
    const end = (await Promise.race([settled, late])) as { reason?: unknown } | undefined;
    if (end === undefined || end === LATE)
      return end === LATE ? 'has not rejected at once' : 'was accepted';
    error = end.reason;
  }
  if (!CODES.test(error?.code)) return `${error?.code}: ${error}`;
  return named.test(error.message) ? undefined : `names nothing: ${error.message}`;
}

/** A test of each row: a wrong value is refused at once, by an error that names it. */
export function refusesWrong(how: 'threw' | 'rejected', rows: readonly Row[]): void {
  // Here, because the hooks of a helper would be those of the first file of the process.
  beforeAll(async () => void Object.assign(made, await make()));
  afterAll(async () => {
    await Promise.all([made.engine.close(), made.other.close(), made.objects.close()]);
  });
  test.each(rows)('%s', async (...row) => {
    const wrong: string[] = [];
    for (const [label, value] of Object.entries(VALUES)) {
      if (row[2].includes(label)) continue;
      const text = await wrongOf(row, value, how);
      if (text !== undefined) wrong.push(`${label}: ${text}`);
    }
    expect(wrong).toEqual([]);
  });
}
