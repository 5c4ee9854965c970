// Long groups in etcd, by a gateway that this process serves.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EtcdDirectory } from 'libfabric/directory';
import { expect, onTestFinished, test } from 'vitest';

interface Asked {
  readonly key: string;
  readonly limit: number;
  readonly revision?: string;
}
type Kvs = readonly { key: string; value: string; lease: string }[];

const base64 = (text: string) => Buffer.from(text).toString('base64');
const kvOf = (id: string, address = 'x') => ({
  key: base64(`/libfabric/group/${id}`),
  value: base64(JSON.stringify({ address, ttl: 1000 })),
  lease: '1',
});
const idsOf = (count: number) =>
  Array.from({ length: count }, (_, i) => String(i).padStart(6, '0'));

/** A directory over two endpoints. `answer` may return the text of an error. */
async function gateway(answer: (asked: Asked) => string | { kvs: Kvs; more: boolean }) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    asked.push(JSON.parse(body));
    const result = answer(asked.at(-1) as Asked);
    if (typeof result === 'string') response.writeHead(400).end(result);
    else response.end(JSON.stringify({ header: { revision: '7' }, ...result }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const directory = new EtcdDirectory({ endpoints: [endpoint, endpoint] });
  onTestFinished(async () => {
    await directory.close();
    server.close().closeAllConnections();
  });
  return { directory, asked };
}

/** Answers with the keys that are asked for, as etcd does. */
const pageOf = (all: Kvs, { key, limit }: Asked) => {
  const from = Buffer.from(key, 'base64').toString();
  const rest = all.filter((kv) => Buffer.from(kv.key, 'base64').toString() >= from);
  return { kvs: rest.slice(0, limit), more: rest.length > limit };
};

test('a long group is read in pages of one revision', async () => {
  const ids = idsOf(10_000);
  const all = ids.map((id) => kvOf(id));
  const { directory, asked } = await gateway((page) => pageOf(all, page));
  expect((await directory.lookup('group')).map(({ id }) => id)).toEqual(ids);
  expect(asked.length).toBeLessThan(10);
  expect(asked.map(({ revision }) => revision)).toEqual([
    undefined,
    ...Array.from(asked.slice(1), () => '7'),
  ]);
});

test('a page that is too long is asked for in shorter ones', async () => {
  const ids = idsOf(40);
  const padding = 'x'.repeat(2.3 * 2 ** 20); // as whoever may write to etcd can write it
  const all = ids.map((id, i) => (i < 30 ? { ...kvOf(id), padding } : kvOf(id)));
  const { directory, asked } = await gateway((page) => pageOf(all, page));
  expect((await directory.lookup('group')).map(({ id }) => id)).toEqual(ids);
  expect(asked[1]?.limit).toBeLessThan(asked[0]?.limit as number);
});

test('if etcd compacts the revision meanwhile, the group is read again', async () => {
  const all = idsOf(100).map((id) => kvOf(id));
  let compacted = 2;
  const { directory } = await gateway((page) =>
    page.revision !== undefined && compacted-- > 0
      ? 'etcdserver: mvcc: required revision has been compacted'
      : pageOf(all, page),
  );
  expect((await directory.lookup('group')).length).toBe(100);
  compacted = Number.POSITIVE_INFINITY;
  await expect(directory.lookup('group')).rejects.toMatchObject({ code: 'FI_EREMOTEIO' });
});

test('what is too long even so has a code, and no other endpoint is asked', async () => {
  const padding = 'x'.repeat(65 * 2 ** 20);
  const { directory, asked } = await gateway(() => ({
    kvs: [{ ...kvOf('a'), padding } as Kvs[number]],
    more: true,
  }));
  const error = { code: 'FI_EMSGSIZE', errno: 90, syscall: 'lookup' };
  await expect(directory.lookup('group')).rejects.toMatchObject(error);
  expect(asked.map(({ limit }) => limit)).toEqual([32, 4, 1]);
});
