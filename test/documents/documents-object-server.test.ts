// examples/object-server: the programs put a file into the store and get it back.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { ending, MIB } from '../support/object-stores.js';
import { settle } from '../support/settle.js';

const example = (name: string) =>
  fileURLToPath(new URL(`../../examples/object-server/${name}`, import.meta.url));

// By hand, with 1 GiB: SIZE=1073741824 npx vitest run test/documents/documents-object-server.test.ts -t programs
test('the programs stream a large file', async () => {
  const size = Number(process.env.SIZE ?? 32 * MIB);
  const folder = mkdtempSync(join(tmpdir(), 'objects-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = createReadStream('/dev/urandom', { end: size - 1 });
  await writeFile(join(folder, 'source'), file);
  const hashOf = async (name: string) => {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(join(folder, name))) hash.update(chunk);
    return hash.digest('hex');
  };
  const start = (args: string[]) => {
    const all = [...args, '--provider', 'tcp', '--node', '127.0.0.1'];
    return ending(
      spawn(process.execPath, all, {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
  };
  const server = start([example('server.mjs'), folder, '--port', '0']);
  const [url] = (await settle(once(createInterface(server.stdout), 'line'))) as [string];
  const put = start([example('client.mjs'), 'put', `${url}/b`, 'stored', 'source']);
  expect(await settle(once(put, 'exit'))).toEqual([0, null]);
  const get = start([example('client.mjs'), 'get', `${url}/b`, 'stored', 'fetched']);
  expect(await settle(once(get, 'exit'))).toEqual([0, null]);
  expect(statSync(join(folder, 'fetched')).size).toBe(size);
  expect(await hashOf('fetched')).toBe(await hashOf('source'));
});
