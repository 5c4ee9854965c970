// What etcd has besides the contract: several endpoints, users and TLS.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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

  const { EtcdClient } = await import('../../dist/directory/etcd-client.js');
  const admin = new EtcdClient({ endpoints: [new URL(endpoints)], user: undefined, tls });
  onTestFinished(() => admin.close());
  const user = { name: 'root', password: 'secret' };
  await admin.call('auth/user/add', user);
  await admin.call('auth/role/add', { name: 'root' });
  await admin.call('auth/user/grant', { user: 'root', role: 'root' });
  await admin.call('auth/enable', {});

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
