// Clients of services are imported when they are needed.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EtcdDirectory, KubernetesDirectory, RedisDirectory } from 'libfabric/directory';
import { expect, onTestFinished, test } from 'vitest';
import { root } from '../support/documents.js';

/** A folder with what libfabric/directory needs of the package: neither the addon nor a client. */
function folderOfDirectories(): string {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-directory-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const part of ['base', 'directory']) {
    cpSync(join(root, 'dist', part), join(folder, 'dist', part), { recursive: true });
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  return folder;
}

test('without its client, a directory says what to install, and the others work', () => {
  const folder = folderOfDirectories();
  const program = `
    import { FolderDirectory, RedisDirectory } from './dist/directory/index.js';
    const folder = new FolderDirectory('.');
    await folder.publish('group', { id: 'a', address: 'b' });
    console.log(JSON.stringify(await folder.lookup('group')));
    const redis = new RedisDirectory({ url: 'redis://127.0.0.1:1' });
    console.log(JSON.stringify(await redis.lookup('group').catch((error) => error)));`;
  writeFileSync(join(folder, 'program.mjs'), program);
  const output = execFileSync(process.execPath, ['program.mjs'], { cwd: folder, encoding: 'utf8' });
  const [entries, error] = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(entries).toEqual([{ id: 'a', address: 'b' }]);
  expect(error).toMatchObject({
    code: 'FI_ENOSYS',
    syscall: 'import',
    message: expect.stringMatching(
      /the package redis is not installed\); run `npm install redis`$/,
    ),
  });
});

test.each([
  ['no URL', () => new RedisDirectory({ url: 'x' }), /options\.url must be a URL/],
  ['another protocol', () => new RedisDirectory({ url: 'http://x' }), /options\.url must be a URL/],
  ['no endpoints', () => new EtcdDirectory({ endpoints: [] }), /options\.endpoints is empty/],
  [
    'no URL',
    () => new EtcdDirectory({ endpoints: ['x'] }),
    /options\.endpoints\[0\] must be a URL/,
  ],
  [
    'another option',
    () => new EtcdDirectory({ endpoints: 'http://x', ttl: 1 } as never),
    /no member 'ttl'/,
  ],
  [
    'no interval',
    () => new EtcdDirectory({ endpoints: 'http://x', interval: 0 }),
    /options\.interval must be/,
  ],
  [
    'no port',
    () => new KubernetesDirectory({ service: 'x', port: 0 }),
    /options\.port must be an integer/,
  ],
  [
    'no function',
    () => new KubernetesDirectory({ service: 'x', port: 1, resolve: 'x' as never }),
    /options\.resolve must be a function/,
  ],
])('options with %s are refused', (_, make, text) => {
  expect(make).toThrow(text);
});

// As the one of redis 5: destroy() throws if the connection has ended.
const ENDING_CLIENT = `
  import { EventEmitter } from 'node:events';
  class Client extends EventEmitter {
    connect = async () => {};
    unref = () => {};
    subscribe = async () => { setTimeout(() => this.emit('error', new Error('Socket closed unexpectedly')), 10); };
    eval = async () => { this.emit('error', new Error('Socket closed unexpectedly')); throw new Error('The client is closed'); };
    destroy() { throw new Error('The client is closed'); }
  }
  export const createClient = () => new Client();`;

test('a client of Redis that throws when it is destroyed is an outage', () => {
  const folder = folderOfDirectories();
  const client = join(folder, 'node_modules/redis');
  mkdirSync(client, { recursive: true });
  writeFileSync(join(client, 'package.json'), '{ "type": "module", "exports": "./index.js" }');
  writeFileSync(join(client, 'index.js'), ENDING_CLIENT);
  const program = `
    import { RedisDirectory } from './dist/directory/index.js';
    const directory = new RedisDirectory({ url: 'redis://127.0.0.1:1' });
    const watch = directory.watch('group');
    const next = watch.next();
    for (let i = 0; i < 3; i++) console.log(await directory.lookup('group').catch(({ code }) => code));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await directory.close();
    console.log((await next).done);`;
  writeFileSync(join(folder, 'program.mjs'), program);
  const output = execFileSync(process.execPath, ['program.mjs'], { cwd: folder, encoding: 'utf8' });
  expect(output.trim().split('\n')).toEqual([
    'FI_EREMOTEIO',
    'FI_EREMOTEIO',
    'FI_EREMOTEIO',
    'true',
  ]);
});
