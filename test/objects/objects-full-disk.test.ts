// A file system that is full: each write is whole, or an error, and nothing that was stored is lost.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const MOUNT = 'mount -t tmpfs -o size=8m none "$0" && exec "$@"';
const own = (folder: string, ...command: string[]) =>
  ['--map-root-user', '--mount', 'sh', '-c', MOUNT, folder, ...command] as const;

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'full-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('a full file system answers 507 to a PUT, a part and the completion of an upload, and keeps the upload', async (context) => {
  const folder = temporaryFolder();
  if (spawnSync('unshare', own(folder, 'true')).status !== 0)
    context.skip('this system permits no mounts');
  const program = fileURLToPath(new URL('full-disk.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(
    'unshare',
    own(folder, process.execPath, program, folder),
  );
  const full = '507 InsufficientStorage';
  expect(JSON.parse(stdout)).toEqual({
    complete: [507, 'InsufficientStorage'],
    part: [507, 'InsufficientStorage'],
    object: 404,
    completedLater: 200,
    isWhole: true,
    overHttp: full,
    'overHttp, stream': full,
    'overHttp, later': 'resolved',
    overFabric: full,
    'overFabric, stream': full,
    'overFabric, later': 'resolved',
    create: full,
    saved: 'ENOSPC',
    left: [],
  });
});
