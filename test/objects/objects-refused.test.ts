// libfabric/objects: what a program passes wrongly is refused, and leaves nothing.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  createObjectServer,
  type ListOptions,
  ObjectClient,
  type ReadOptions,
} from 'libfabric/objects';
import { expect, onTestFinished, test } from 'vitest';
import { MIB, serve, TCP } from '../support/object-stores.js';

test('list() and get() refuse options of other types, which would give other keys or bytes', async () => {
  const { connect } = await serve(undefined);
  const client = await connect();
  await client.put('nullable', 'bytes');
  for (const wrong of [null, false, 0, {}, Symbol('x')]) {
    for (const name of ['prefix', 'delimiter', 'startAfter', 'pageSize', 'signal']) {
      const listing = () => client.list({ [name]: wrong } as ListOptions);
      const code = name === 'pageSize' && wrong === 0 ? 'ERR_OUT_OF_RANGE' : 'ERR_INVALID_ARG_TYPE';
      expect([name, wrong, codeOf(listing)]).toEqual([name, wrong, code]);
    }
    const reading = client.get('nullable', { range: wrong } as unknown as ReadOptions);
    await expect(reading).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
  }
});

test('headers are a plain object or Headers: those of anything else would not be sent', () => {
  const open = (headers: unknown) =>
    new ObjectClient('http://127.0.0.1:1/b', { headers: headers as Headers });
  const fields = { authorization: 'a' };
  for (const right of [fields, Object.assign(Object.create(null), fields), new Headers(fields)])
    open(right);
  const others = [new Map(Object.entries(fields)), new Uint8Array(1), new Date(), [fields]];
  class Fields {}
  for (const wrong of [...others, Promise.resolve(fields), new Fields(), () => {}, 'a', null])
    expect(codeOf(() => open(wrong))).toBe('ERR_INVALID_ARG_TYPE');
});

test('a server that cannot be made keeps no descriptor, and follows no link', async () => {
  const root = mkdtempSync(join(tmpdir(), 'objects-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const elsewhere = join(root, 'elsewhere');
  mkdirSync(elsewhere);
  for (const [i, own] of ['.', 'temporary', 'uploads'].entries()) {
    for (const isLink of [true, false]) {
      const store = join(root, `${i}-${isLink}`);
      const path = join(store, '.libfabric', own);
      mkdirSync(dirname(path), { recursive: true });
      if (isLink) symlinkSync(elsewhere, path);
      else writeFileSync(path, '');
      await expect(createObjectServer(store)).rejects.toMatchObject({ code: 'ENOTDIR' });
    }
  }
  await expect(createObjectServer('/proc')).rejects.toMatchObject({ code: 'ENOENT' });
  for (const server of [{}, null, 5, 'x']) {
    const making = createObjectServer(elsewhere, { server } as never);
    await expect(making).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
  }
  expect(readdirSync(elsewhere)).toEqual([]);
  expect(openIn(root)).toEqual([]);
});

test.each([undefined, TCP])(
  'put() of a source that is silent ends on its signal, and when the client closes, fabric: %o',
  async (fabric) => {
    const { connect } = await serve(fabric);
    for (const count of [0, 1, 5]) {
      const client = await connect();
      const silent = async function* () {
        for (let i = 0; i < count; i++) yield Buffer.alloc(MIB);
        await new Promise(() => {});
      };
      const controller = new AbortController();
      const aborted = client.put('a', silent(), { signal: controller.signal });
      const closed = client.put('b', silent());
      setTimeout(() => controller.abort(new Error('no more')), 50);
      await expect(aborted).rejects.toThrow('no more');
      const failed = expect(closed).rejects.toMatchObject({ code: 'ERR_CLOSED' });
      await client.close();
      await failed;
    }
  },
);

function codeOf(call: () => unknown): string | undefined {
  try {
    call();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
  return undefined;
}

/** The descriptors of this process below a folder. */
const openIn = (folder: string): string[] =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
    } catch {
      return false; // that of readdir
    }
  });
