// The directory in a shared folder. Those with servers are in directory-servers.slow.test.ts.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { folderService, open } from '../support/directories.js';
import { contract, untilHas } from '../support/directory-contract.js';
import { root } from '../support/documents.js';
import { warningsFromNow } from '../support/warnings.js';

contract('folder', 800, folderService);

async function group() {
  const service = await folderService();
  onTestFinished(() => service.stop());
  const making = service.making(1);
  const path = join(making.folder as string, 'group');
  mkdirSync(path);
  return { path, making };
}

const record = (address: string, ttl: number) => JSON.stringify({ address, ttl });

test('what is no file of an entry is ignored with one warning, and stays', async () => {
  const { path, making } = await group();
  mkdirSync(join(path, 'folder'));
  symlinkSync(join(path, 'link'), join(path, 'link'));
  symlinkSync('/etc/hostname', join(path, 'elsewhere'));
  symlinkSync('/dev/zero', join(path, 'device'));
  execFileSync('mkfifo', [join(path, 'fifo')]);
  writeFileSync(join(path, 'README.txt'), 'of somebody else');
  utimesSync(join(path, 'README.txt'), 0, 0);
  writeFileSync(join(path, '.hidden'), 'x');
  const all = readdirSync(path).sort();
  const warnings = warningsFromNow();
  const [a, b] = [open(making), open(making)];
  const entry = { id: 'a', address: 'b' };
  await a.publish('group', entry);
  expect(await untilHas(b.watch('group'), ['a'])).toEqual([entry]);
  for (let i = 0; i < 3; i++) expect(await b.lookup('group')).toEqual([entry]);
  await new Promise(setImmediate);
  expect(warnings.length).toBe(all.length - 1);
  expect(readdirSync(path).sort()).toEqual([...all, 'a'].sort());
});

test('an entry whose file is of the future ends one lease after it was seen', async () => {
  const { path, making } = await group();
  const file = join(path, 'dead');
  writeFileSync(file, record('x', 300));
  utimesSync(file, new Date('2099-01-01'), new Date('2099-01-01'));
  const watch = open(making).watch('group');
  await untilHas(watch, ['dead']);
  const seen = performance.now();
  await untilHas(watch, []);
  expect(performance.now() - seen).toBeGreaterThan(100);
  expect(existsSync(file)).toBe(true);
});

test('an entry that is written again lives, although the clock of the file server has stepped back', async () => {
  const { path, making } = await group();
  const file = join(path, 'living');
  writeFileSync(file, record('before', 60_000));
  const watch = open(making).watch('group');
  await untilHas(watch, ['living']);
  writeFileSync(file, record('after', 60_000));
  utimesSync(file, new Date('1999-01-01'), new Date('1999-01-01'));
  for (let address = ''; address !== 'after'; ) {
    address = (await untilHas(watch, ['living']))[0]?.address ?? '';
  }
});

test('a group may have more files than a process may open', async () => {
  const { path } = await group();
  for (let i = 0; i < 600; i++) writeFileSync(join(path, `member-${i}`), record('x', 600_000));
  const program = `
    import { FolderDirectory } from 'libfabric/directory';
    const found = await new FolderDirectory(process.argv[1]).lookup('group');
    console.log(found.length);`;
  const node = `ulimit -n 128 && exec '${process.execPath}' --input-type=module -e "$1" "$2"`;
  const args = ['-c', node, 'sh', program, dirname(path)];
  expect(execFileSync('sh', args, { cwd: root, encoding: 'utf8' }).trim()).toBe('600');
});
