// node few-descriptors.mjs ROOT, with a limit of some hundred descriptors: answers of an object server while few, or none, are
// free. Prints what was answered wrongly, and how often a request was answered with 503.
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { FolderDirectory } from '../../dist/directory/index.js';
import { createObjectServer, ObjectClient } from '../../dist/objects/index.js';
import { TransferEngine } from '../../dist/transfer/index.js';
import { hasEnded, thisProcess } from '../../dist/transfer/same-host.js';

const FREE = [0, 1, 2, 3, 5, 8]; // descriptors
const [root] = process.argv.slice(2);
const wrong = [];
let refused = 0;

const held = [];
function hold(free) {
  try {
    for (;;) held.push(openSync('/dev/null'));
  } catch {}
  for (let i = 0; i < free; i++) closeSync(held.pop());
}
const release = () => held.splice(0).forEach((fd) => void closeSync(fd));

/** Calls while so many descriptors are free. */
async function withFree(free, call) {
  hold(free);
  try {
    return await call();
  } finally {
    release();
  }
}

const engine = await TransferEngine.open({ provider: 'shm' });
const server = await createObjectServer(root, { engine, durable: false });
const url = await server.listen();
const agent = new Agent({ keepAlive: true, maxSockets: 1 }); // a connection that is open
const send = (method, path, body, headers = {}) =>
  new Promise((resolve, reject) => {
    const sent = request(url + path, { method, agent, headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, text }));
      response.on('error', reject);
    });
    sent.on('error', reject).end(body);
  });

const KEYS = ['a', 'd/e/f', 'd/g', 'h/i/j', 'z'];
const seed = async () => {
  for (const key of KEYS) await send('PUT', `/b/${key}`, `old ${key}`);
};
await mkdir(`${root}/b`);
await seed();
const [, id] = /<UploadId>(.*?)</.exec((await send('POST', '/b/u?uploads')).text);
const idle = () => send('HEAD', '/b/a');

const entriesOf = (text) => [...text.matchAll(/<(?:Key|Prefix)>([^<]+)</g)].map(([, key]) => key);
const isCut = ({ text }, count) => entriesOf(text).length !== count;
const list = '/b?list-type=2';
// [method, path, body, headers, whether an answer other than 503 is wrong]
const requests = [
  ['GET', '/b/a', undefined, {}, ({ text }) => text !== 'old a'],
  ['GET', '/b/d/e/f', undefined, {}, ({ text }) => text !== 'old d/e/f'],
  ['HEAD', '/b/a'],
  ['HEAD', '/b'],
  ['GET', '/', undefined, {}, ({ text }) => !text.includes('<Name>b<')],
  ['GET', list, undefined, {}, (answer) => isCut(answer, KEYS.length)],
  ['GET', `${list}&delimiter=/`, undefined, {}, (answer) => isCut(answer, 4)],
  ['GET', '/b?marker=d/e/f', undefined, {}, (answer) => isCut(answer, 3)],
  ['PUT', '/b/a', 'new', {}, () => readFileSync(`${root}/b/a`, 'utf8') !== 'new'],
  ['PUT', '/b/z', 'new', { 'if-none-match': '*' }, ({ status }) => status !== 412],
  ['PUT', '/b/z', 'new', { 'if-match': '*' }, ({ status }) => status !== 200],
  ['DELETE', '/b/d/g', undefined, {}, () => existsSync(`${root}/b/d/g`)],
  ['DELETE', '/b', undefined, {}, ({ status }) => status !== 409],
  ['POST', '/b/v?uploads', undefined, {}, ({ status }) => status !== 200],
  ['PUT', `/b/u?partNumber=1&uploadId=${id}`, 'part', {}, ({ status }) => status !== 200],
  // With the list of another part, it would be InvalidPart.
  [
    'POST',
    `/b/u?uploadId=${id}`,
    '<Part><PartNumber>9</PartNumber><ETag>x</ETag></Part>',
    {},
    ({ status }) => status !== 400,
  ],
];
for (const free of FREE) {
  for (const [method, path, body, headers, isWrong] of requests) {
    await idle();
    const answer = await withFree(free, () => send(method, path, body, headers));
    const { status, text } = answer;
    const isRefused = status === 503 && (method === 'HEAD' || text.includes('ulimit -n'));
    if (isRefused) refused += 1;
    else if (status === 404 || status >= 500 || isWrong?.(answer))
      wrong.push([free, method, path, status, text.slice(0, 300)]);
    if (method === 'PUT' || method === 'DELETE') await seed();
  }
}

// A client with an engine: its first request asks for the way, and the server has to admit its address.
const own = await TransferEngine.open({ provider: 'shm' });
for (const free of FREE) {
  const client = new ObjectClient(`${url}/b`, { engine: own });
  const code = await withFree(free, () =>
    client.head('a').then(
      () => 'ok',
      (error) => error.code,
    ),
  );
  if (!['ok', 'SlowDown', 'EMFILE', 'ECONNRESET'].includes(code)) wrong.push([free, 'meet', code]);
  const later = await client.get('a').catch((error) => error);
  if (later.size !== 5) wrong.push([free, 'meet later', later.code]);
  const memory = await own.allocate(1000);
  // Memory needs the fabric: the client has not fallen back to HTTP for good.
  const { status } = await client.put('m', memory.slice(0, 999)).catch((error) => error);
  if (status) wrong.push([free, 'put later', status]);
  await memory.close();
  await client.close();
}

// The names of others are not "not there" either.
await mkdir(`${root}/directory`);
const directory = new FolderDirectory(`${root}/directory`);
const MEMBERS = 200; // more than descriptors
for (let i = 0; i < MEMBERS; i++) await directory.publish('group', { id: `e${i}`, address: 'x' });
for (const free of FREE) {
  const found = await withFree(free, () => directory.lookup('group').catch(() => undefined));
  if (found && found.length !== MEMBERS) wrong.push([free, 'lookup', found.length]);
}
const fresh = new FolderDirectory(`${root}/directory`);
const { length } = await fresh.lookup('group');
if (length !== MEMBERS) wrong.push(['lookup', length]);
await fresh.close();
await directory.close();
const self = thisProcess();
if (await withFree(0, () => hasEnded(self))) wrong.push('this process has ended');

console.log(JSON.stringify({ wrong, isRefused: refused > 10 }));
await rm(root, { recursive: true });
process.exit();
