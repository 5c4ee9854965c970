// Object servers to which the system refuses descriptors, long files or /proc: no answer says that an object is not there.
import { execFile, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ObjectClient } from 'libfabric/objects';
import { expect, onTestFinished, test } from 'vitest';
import { ending, MIB } from '../support/object-stores.js';
import { settle } from '../support/settle.js';

const run = promisify(execFile);
const pathOf = (program: string) => fileURLToPath(new URL(program, import.meta.url));

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'limited-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('a server without free descriptors answers 503, and no list is cut', async () => {
  const limited = 'ulimit -n 200 && exec "$@"';
  const program = [process.execPath, pathOf('few-descriptors.mjs'), temporaryFolder()];
  const { stdout } = await run('sh', ['-c', limited, 'sh', ...program]);
  expect(JSON.parse(stdout)).toEqual({ wrong: [], isRefused: true });
});

test('a file that is too long for the server is refused with the limit as the reason, also as an upload in parts', async () => {
  const root = temporaryFolder();
  mkdirSync(join(root, 'b'));
  const limited = 'ulimit -f 4096 && exec "$0" "$@"'; // blocks of 512 or 1024 bytes
  const server = ending(
    fork(pathOf('object-server.mjs'), [root], {
      execPath: 'sh',
      execArgv: ['-c', limited, process.execPath],
    }),
  );
  const [url] = (await settle(once(server, 'message'))) as [string];
  const client = new ObjectClient(`${url}/b`);
  onTestFinished(() => client.close());
  const parts = async function* () {
    for (let i = 0; i < 3; i++) yield Buffer.alloc(4 * MIB);
  };
  for (const body of [Buffer.alloc(5 * MIB), parts()]) {
    const refused = await client.put('a', body).catch((error) => error);
    expect(refused).toMatchObject({
      code: 'EntityTooLarge',
      hint: expect.stringMatching('ulimit -f'),
    });
  }
  await client.put('a', 'short');
  expect(readdirSync(join(root, '.libfabric'), { recursive: true })).toEqual(
    expect.not.arrayContaining([expect.stringMatching(/temporary.|uploads./)]),
  );
});

test('without /proc, a server cannot be made, and the error says why', async (context) => {
  const own = ['--map-root-user', '--mount', 'sh', '-c', 'mount -t tmpfs none /proc && exec "$@"'];
  if (spawnSync('unshare', [...own, 'sh', 'true']).status !== 0)
    context.skip('this system permits no mounts');
  const program = `
    import { createObjectServer } from ${JSON.stringify(import.meta.resolve('libfabric/objects'))};
    const { code, hint } = await createObjectServer('/tmp').catch((error) => error);
    console.log(JSON.stringify({ code, hint }));
    process.exit();`;
  const node = [process.execPath, '--input-type=module', '-e', program];
  const { stdout } = await run('unshare', [...own, 'sh', ...node]);
  expect(JSON.parse(stdout)).toEqual({
    code: 'FI_ENOSYS',
    hint: expect.stringMatching('/proc'),
  });
});
