// Files in /dev/shm of efa endpoints whose processes were killed.
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { OtherProcess } from '../support/other-process.js';
import { withSoftefa } from '../support/softefa.js';

const opened = () =>
  OtherProcess.start({
    provider: 'efa',
    env: { ...withSoftefa(), FI_EFA_ENABLE_SHM_TRANSFER: '1' },
  });

/** The file of the endpoint of a process. */
function fileOf({ child }: OtherProcess): string {
  const maps = readFileSync(`/proc/${child.pid}/maps`, 'utf8');
  const file = maps.match(/\/dev\/shm\/fe80:\S+/)?.[0];
  if (file === undefined) throw new Error('the endpoint has no file');
  onTestFinished(() => rmSync(file, { force: true }));
  return file;
}

test('an endpoint of efa removes the files of killed processes, and no others', async () => {
  const [killed, living] = [await opened(), await opened()];
  const [left, used] = [fileOf(killed), fileOf(living)];
  // A program that does not use this package: its file has no mark, and no lock.
  const foreign = left.replace(/_[0-9a-f]{8}_/, '_00000000_');
  writeFileSync(foreign, '');
  onTestFinished(() => rmSync(foreign, { force: true }));
  // A file that is no region.
  const other = `${left}.txt`;
  writeFileSync(other, '');
  chmodSync(other, statSync(left).mode);
  onTestFinished(() => rmSync(other, { force: true }));

  await killed.kill(); // from now on any process with an endpoint of efa may remove the file
  await (await opened()).close();
  const files = [left, used, foreign, other];
  expect(files.map((file) => existsSync(file))).toEqual([false, true, true, true]);
  await living.close();
  expect(existsSync(used)).toBe(false);
});
