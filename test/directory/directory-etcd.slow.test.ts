// What etcd has besides the contract: several endpoints, keys apart from leases, users and TLS.
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EtcdDirectory, type EtcdDirectoryOptions } from 'libfabric/directory';
import { expect, onTestFinished, test } from 'vitest';
import { TEST_CERT, TEST_KEY } from '../support/certificate.js';
import { etcdService } from '../support/directories.js';
import { untilHas } from '../support/directory-contract.js';
import { freePort } from '../support/free-port.js';

function open(options: EtcdDirectoryOptions) {
  const directory = new EtcdDirectory(options);
  onTestFinished(() => directory.close());
  return directory;
}

const entry = { id: 'a', address: 'b' };

test('if an endpoint cannot be reached, the next one is used', async ({ skip }) => {
  const service = await etcdService();
  if (service === undefined) return skip('needs etcd');
  onTestFinished(() => service.stop());
  const url = service.making(1).endpoints as string;
  const none = `http://127.0.0.1:${await freePort()}`;
  const directory = open({ endpoints: [none, url] });
  await directory.publish('group', entry);
  const watch = open({ endpoints: [none, url] }).watch('group');
  expect(await untilHas(watch, ['a'])).toEqual([entry]);
  await expect(open({ endpoints: none }).lookup('group')).rejects.toMatchObject({
    code: 'FI_ECONNREFUSED',
    syscall: 'lookup',
  });
});

/** Enables authentication, with the user root. Returns a client without a user. */
async function enableUsers(endpoints: string, tls?: EtcdDirectoryOptions['tls']) {
  const { EtcdClient } = await import('../../dist/directory/etcd-client.js');
  const admin = new EtcdClient({ endpoints: [new URL(endpoints)], user: undefined, tls });
  onTestFinished(() => admin.close());
  await admin.call('auth/user/add', { name: 'root', password: 'secret' });
  await admin.call('auth/role/add', { name: 'root' });
  await admin.call('auth/user/grant', { user: 'root', role: 'root' });
  await admin.call('auth/enable', {});
  return new EtcdClient({
    endpoints: [new URL(endpoints)],
    user: { name: 'root', password: 'secret' },
    tls,
  });
}

test('a user over TLS, whose token etcd forgets when it starts again', async ({ skip }) => {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-directory-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [cert, key] = [join(folder, 'cert'), join(folder, 'key')] as const;
  writeFileSync(cert, TEST_CERT);
  writeFileSync(key, TEST_KEY);
  const service = await etcdService(false, [cert, key]);
  if (service === undefined) return skip('needs etcd');
  onTestFinished(() => service.stop());
  const endpoints = service.making(1).endpoints as string;
  // The certificate is of localhost.
  const tls = { ca: TEST_CERT, servername: 'localhost' };
  const anybody = open({ endpoints, tls });
  await anybody.publish('group', entry);
  await expect(open({ endpoints }).lookup('group')).rejects.toThrow(/certificate/);

  await enableUsers(endpoints, tls);

  await expect(anybody.lookup('group')).rejects.toThrow(/user name is empty|not provided/);
  await expect(
    open({ endpoints, tls, username: 'root', password: 'wrong' }).lookup('group'),
  ).rejects.toThrow(/authentication failed/);
  const known = open({ endpoints, tls, username: 'root', password: 'secret' });
  const watch = known.watch('group');
  await untilHas(watch, ['a']);
  await service.fail();
  await service.restore();
  await known.publish('group', { id: 'c', address: 'd' });
  await untilHas(watch, ['a', 'c']);
});

test('an entry whose key is deleted or changed while its lease lives is back one renewal later', async ({
  skip,
}) => {
  const service = await etcdService();
  if (service === undefined) return skip('needs etcd');
  onTestFinished(() => service.stop());
  const endpoints = service.making(1).endpoints as string;
  const { bytes, EtcdClient } = await import('../../dist/directory/etcd-client.js');
  const admin = new EtcdClient({
    endpoints: [new URL(endpoints)],
    user: undefined,
    tls: undefined,
  });
  onTestFinished(() => admin.close());
  const key = bytes('/libfabric/group/a');
  const directory = open({ endpoints, interval: 200 });
  await directory.publish('group', entry, { ttl: 2000 });
  const watch = open({ endpoints, interval: 200 }).watch('group');
  await untilHas(watch, ['a']);
  await admin.call('kv/deleterange', { key });
  await untilHas(watch, []);
  expect(await untilHas(watch, ['a'])).toEqual([entry]);
  for (const value of [bytes('{"address":"of another","ttl":1000}'), bytes('nonsense')]) {
    const { ID: lease } = await admin.call<{ ID: string }>('lease/grant', { TTL: 600 });
    await admin.call('kv/put', { key, value, lease });
    for (let address = ''; address !== 'b'; ) {
      address = (await untilHas(watch, ['a']))[0]?.address ?? '';
    }
  }
  await admin.call('kv/put', { key, value: bytes('{"address":"without a lease","ttl":9}') });
  await untilHas(watch, []);
  expect(await untilHas(watch, ['a'])).toEqual([entry]);
  await directory.withdraw('group', 'a');
  await untilHas(watch, []);
});

test('users that are changed, enabled and disabled, with tokens that name their revision', async ({
  skip,
}) => {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-directory-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const [pub, priv] = [join(folder, 'public'), join(folder, 'private')];
  writeFileSync(pub, publicKey.export({ type: 'spki', format: 'pem' }));
  writeFileSync(priv, privateKey.export({ type: 'pkcs1', format: 'pem' }));
  const token = `jwt,pub-key=${pub},priv-key=${priv},sign-method=RS256,ttl=10m`;
  const service = await etcdService(false, undefined, ['--auth-token', token]);
  if (service === undefined) return skip('needs etcd');
  onTestFinished(() => service.stop());
  const endpoints = service.making(1).endpoints as string;
  const known = open({ endpoints, username: 'root', password: 'secret' });
  await known.publish('group', entry); // nobody needs a user at present
  const root = await enableUsers(endpoints);
  onTestFinished(() => root.close());
  expect(await known.lookup('group')).toEqual([entry]);
  for (const name of ['x', 'y']) {
    await root.call('auth/user/add', { name, password: 'x' });
    await Promise.all(
      [1, 2, 3].map((i) => known.publish('group', { id: `${name}${i}`, address: 'd' })),
    );
    expect((await known.lookup('group')).length).toBe(name === 'x' ? 4 : 7);
  }
  const watch = known.watch('group');
  await untilHas(watch, ['a', 'x1', 'x2', 'x3', 'y1', 'y2', 'y3']);
  await root.call('auth/user/add', { name: 'z', password: 'x' });
  await known.withdraw('group', 'a');
  await untilHas(watch, ['x1', 'x2', 'x3', 'y1', 'y2', 'y3']);
  await root.call('auth/disable', {});
  expect((await known.lookup('group')).length).toBe(6);
});

/** An endpoint that passes bytes on until it is stopped. It then accepts connections, and says nothing. */
async function stoppable(url: string) {
  let isStopped = false;
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    if (isStopped) return;
    const other = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
    sockets.push(other);
    socket.pipe(other).pipe(socket);
  });
  const port = await freePort();
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      isStopped = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
  };
}

test('if a member is stopped, no entry ends, and watches go on at the next one', async ({
  skip,
}) => {
  const service = await etcdService();
  if (service === undefined) return skip('needs etcd');
  onTestFinished(() => service.stop());
  const url = service.making(1).endpoints as string;
  const members = [await stoppable(url), await stoppable(url)] as const;
  const endpoints = [members[0].url, members[1].url, url];
  const owner = open({ endpoints });
  const ids = ['a', 'b', 'c'];
  for (const id of ids) await owner.publish('group', { id, address: 'x' }, { ttl: 3000 });
  const theirs = open({ endpoints, interval: 1000 }).watch('group');
  const direct = open({ endpoints: url }).watch('group');
  await Promise.all([theirs, direct].map((watch) => untilHas(watch, ids)));
  for (const member of members) member.stop();
  const next = direct.next();
  const later = new Promise((resolve) => setTimeout(resolve, 7000, 'nothing'));
  expect(await Promise.race([next, later])).toBe('nothing');
  const other = open({ endpoints: url });
  await other.publish('group', { id: 'd', address: 'x' }, { ttl: 3000 });
  expect((await next).value?.length).toBe(4);
  await untilHas(theirs, [...ids, 'd']);
});
