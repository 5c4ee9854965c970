// node full-disk.mjs FOLDER: fills the file system of FOLDER, of 8 MiB, in the middle of requests. Prints what was answered.
import { mkdir, open, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { createObjectServer, ObjectClient } from '../../dist/objects/index.js';
import { TransferEngine } from '../../dist/transfer/index.js';

const MIB = 2 ** 20;
const [root] = process.argv.slice(2);
await mkdir(`${root}/b`);
const engine = await TransferEngine.open({ provider: 'shm' });
const server = await createObjectServer(root, { engine });
const url = await server.listen();
const overHttp = new ObjectClient(`${url}/b`);
const own = await TransferEngine.open({ provider: 'shm' });
const overFabric = new ObjectClient(`${url}/b`, { engine: own });
const answers = {};

/** Leaves this much of the file system, during a call. */
async function withRoom(bytes, call) {
  const { bavail, bsize } = await statfs(root);
  await writeFile(`${root}/filler`, Buffer.alloc(bavail * bsize - bytes));
  try {
    return await call();
  } finally {
    await rm(`${root}/filler`);
  }
}

const codeOf = (promise) =>
  promise.then(
    () => 'resolved',
    (error) => `${error.status ?? ''} ${error.code}`.trim(),
  );
const statusOf = async (response) => [
  response.status,
  (await response.text()).match(/<Code>(.*)<\/Code>/)?.[1],
];

const key = `${url}/b/key`;
const created = await (await fetch(`${key}?uploads`, { method: 'POST' })).text();
const upload = `uploadId=${created.match(/<UploadId>(.*)<\/UploadId>/)[1]}`;
const part = Buffer.alloc(3 * MIB, 7);
const put = await fetch(`${key}?partNumber=1&${upload}`, { method: 'PUT', body: part });
const etag = put.headers.get('etag');
const list = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${etag}</ETag></Part></CompleteMultipartUpload>`;
const complete = () => fetch(`${key}?${upload}`, { method: 'POST', body: list });
answers.complete = await statusOf(await withRoom(2.5 * MIB, complete));
answers.part = await statusOf(
  await withRoom(MIB, () => fetch(`${key}?partNumber=2&${upload}`, { method: 'PUT', body: part })),
);
answers.object = (await fetch(key)).status;
answers.completedLater = (await statusOf(await complete()))[0];
const got = Buffer.from(await (await fetch(key)).arrayBuffer());
answers.isWhole = got.equals(part);
await fetch(key, { method: 'DELETE' });

for (const [name, client] of Object.entries({ overHttp, overFabric })) {
  answers[name] = await withRoom(1.5 * MIB, () => codeOf(client.put('object', part)));
  const parts = (async function* () {
    for (let i = 0; i < 6; i++) yield part;
  })();
  answers[`${name}, stream`] = await codeOf(client.put('object', parts));
  answers[`${name}, later`] = await codeOf(client.put('object', part));
  await client.delete('object');
}
const create = () =>
  codeOf(
    fetch(`${key}?uploads`, { method: 'POST' })
      .then(statusOf)
      .then((all) => Promise.reject({ code: all.join(' ') })),
  );
answers.create = await withRoom(0, create);

const [toOwn, toEngine] = [await engine.peer(own.address), await own.peer(engine.address)];
const file = await open(`${root}/saved`, 'w');
const incoming = engine.incoming({ from: toOwn });
const saved = withRoom(MIB, () => codeOf(incoming.saveTo(file)));
await codeOf(toEngine.upload([part], incoming.token)); // it may have resolved: the bytes are in memory
answers.saved = await saved;
await file.close();
answers.left = await readdir(`${root}/.libfabric/temporary`);
console.log(JSON.stringify(answers));
process.exit();
