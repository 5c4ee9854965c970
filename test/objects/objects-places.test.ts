// libfabric/objects: how many lists, and completions of uploads, run at the same time; and how long the list of parts may be.
import { closeSync, constants, openSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Arriving } from '../../dist/objects/arriving.js';
import { listPage } from '../../dist/objects/listing.js';
import { uploadRequest } from '../../dist/objects/upload-requests.js';
import { MIB, serve } from '../support/object-stores.js';

test('four lists run at the same time, and further ones wait', async () => {
  const { folder: path } = await serve(undefined);
  let started = 0;
  const folder = {
    checkBucket() {},
    openFolder() {
      started += 1;
      return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
    },
  };
  const query = { prefix: '', delimiter: '', after: '', limit: 9, room: MIB, bytesOf: () => 1 };
  const pages = Array.from({ length: 10 }, () => listPage(folder as never, 'b', query));
  for (let i = 0; i < 100; i++) await Promise.resolve(); // no file system has answered yet
  expect(started).toBe(4);
  await Promise.all(pages);
  expect(started).toBe(10);
});

test('16 completions run at the same time, and further ones wait', async () => {
  const going: (() => void)[] = [];
  let begun = 0;
  const uploads = {
    join: () => {
      begun += 1;
      const joined = { size: 0, crc: undefined, checksums: new Map() };
      return new Promise((resolve) => going.push(() => resolve(joined)));
    },
    checksumsOf: async () => undefined,
    checkStays() {},
    ended: async () => {},
  };
  const file = () => ({
    path: '',
    handle: { fd: openSync('/dev/null', 'r'), stat: async () => ({ size: 0 }) },
  });
  const own = {
    create: async () => file(),
    discard: async ({ handle }: ReturnType<typeof file>) => closeSync(handle.fd),
  };
  const version = { size: 0, modified: 1, inode: 1 };
  const folder = {
    own,
    version() {},
    checkReplace: async () => {},
    finish: async () => version,
    replace: async () => true,
  };
  const store = { folder, fabric: undefined, arriving: new Arriving(MIB) };
  const query = new URLSearchParams('uploadId=1');
  const request = {
    method: 'POST',
    fields: {},
    body: Buffer.from('<Part><PartNumber>1</PartNumber><ETag>a</ETag></Part>'),
    quietly: (work: () => Promise<unknown>) => work(),
  };
  const answers = Array.from({ length: 20 }, () =>
    uploadRequest(
      request as never,
      { bucket: 'b', key: 'a', query },
      store as never,
      uploads as never,
    ),
  );
  for (let i = 0; i < 20; i++) await turn();
  expect([begun, going.length]).toEqual([16, 16]);
  going.shift()?.();
  await expect.poll(() => begun).toBe(17);
  while (begun < 20) {
    going.shift()?.();
    await turn();
  }
  for (const go of going) go();
  for (const answer of await Promise.all(answers)) expect(answer).toMatchObject({ status: 200 });
  expect(store.arriving.bytes).toBe(0);
});

test('the list of the parts of an upload has at most 4 MiB', async () => {
  const { url } = await serve(undefined);
  const created = await (await fetch(`${url}/b/a?uploads`, { method: 'POST' })).text();
  const [, id] = /<UploadId>(.*)<\/UploadId>/.exec(created) ?? [];
  const complete = async (length: number) => {
    const body = '<Part><PartNumber>1</PartNumber><ETag>a</ETag></Part>'.padEnd(length);
    const response = await fetch(`${url}/b/a?uploadId=${id}`, { method: 'POST', body });
    return [response.status, /<Code>(\w+)</.exec(await response.text())?.[1]];
  };
  expect(await complete(4 * MIB)).toEqual([400, 'InvalidPart']);
  expect(await complete(4 * MIB + 1)).toEqual([400, 'EntityTooLarge']);
});
