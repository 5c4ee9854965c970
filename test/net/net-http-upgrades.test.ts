// A server with attach(), and an object server on it: all that does not ask for their protocols gets the answer that it gets
// without them.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import * as http from 'node:http';
import * as tcp from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { attach } from '../../dist/net/index.js';
import { serve as serveObjects } from '../support/object-stores.js';

const UPGRADE =
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const post = (path: string, body: string, headers = '') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
const LAST = 'Connection: close\r\n';

/** What a client sends, whose last request ends the connection. */
const requests: Record<string, string> = {
  'a body with Upgrade': post('/1', 'hello', UPGRADE) + get('/2', LAST),
  'a chunked body with Upgrade': `POST /1 HTTP/1.1\r\nHost: x\r\n${UPGRADE}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n${get('/2', LAST)}`,
  'no body with Upgrade': get('/1', 'Connection: Upgrade, close\r\nUpgrade: h2c\r\n'),
  'requests behind each other':
    get('/1') + post('/2', 'two') + get('/3') + post('/4', 'four', LAST),
  'Expect: 100-continue': post('/1', 'hello', `${LAST}Expect: 100-continue\r\n`),
  'Expect: 100-continue with Upgrade':
    post('/1', 'hello', `${UPGRADE}Expect: 100-continue\r\n`) + get('/2', LAST),
  'another Expect': post('/1', 'hello', `${LAST}Expect: more\r\n`),
  CONNECT: 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
  'the protocol of HTTP/1.0':
    'GET /1 HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: libfabric\r\n\r\n',
  'the protocol with a body':
    post('/1', 'hello', 'Connection: Upgrade\r\nUpgrade: libfabric\r\n') + get('/2', LAST),
  'the protocol without Connection': get('/1', `${LAST}Upgrade: libfabric\r\n`),
  'several protocols': get('/1', 'Connection: Upgrade, close\r\nUpgrade: h2c, libfabric\r\n'),
  'what is no HTTP': 'hello\r\n\r\n',
};

type Prepare = (server: http.Server) => void;

const onUpgrade = (server: http.Server) =>
  server.on('upgrade', (request, socket, head) => {
    socket.end(`upgraded ${request.headers.upgrade} ${head.length}`);
  });

/** What the program listens for, before and after attach(). */
const programs: Record<string, [before: Prepare, after: Prepare]> = {
  nothing: [() => {}, () => {}],
  upgrade: [onUpgrade, () => {}],
  'upgrade, later': [() => {}, onUpgrade],
  checkContinue: [
    (server) =>
      server.on('checkContinue', (_request, response) => response.writeHead(417).end('no')),
    () => {},
  ],
  connect: [
    (server) => server.on('connect', (_request, socket) => socket.end('connected')),
    () => {},
  ],
};

async function listen(isAttached: boolean, [before, after]: [Prepare, Prepare]): Promise<number> {
  const server = http.createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    response.end(`${request.method} ${request.url} ${body}\n`);
  });
  server.keepAliveTimeout = 100; // Node.js drops what follows some of these requests
  before(server);
  if (isAttached) attach(server, { provider: 'shm' });
  after(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as tcp.AddressInfo).port;
}

/** Everything that the server sends until it closes, without the date. */
async function answerTo(port: number, text: string): Promise<string> {
  const socket = tcp.connect(port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(text);
  let answer = '';
  socket.on('data', (bytes) => (answer += bytes));
  // An early answer closes the connection at any moment.
  await new Promise((resolve) => socket.on('close', resolve));
  return answer.replaceAll(/^Date: .*$/gm, 'Date');
}

describe.each(Object.keys(programs))('a program that listens for %s', (name) => {
  test('gets each request as without attach()', async () => {
    const program = programs[name] as [Prepare, Prepare];
    const [plain, attached] = [await listen(false, program), await listen(true, program)];
    const answers = (port: number) =>
      Promise.all(Object.values(requests).map((text) => answerTo(port, text)));
    const [expected, found] = await Promise.all([answers(plain), answers(attached)]);
    const names = Object.keys(requests);
    for (const [i, each] of names.entries()) expect(found[i], each).toBe(expected[i]);
    expect(found.filter((text) => text !== '').length).toBeGreaterThan(names.length - 3);
  });
});

test('curl --http2 sends bodies to a server with attach(), and objects to an object server', async (context) => {
  const run = promisify(execFile);
  const curl = (...args: string[]) => run('curl', ['-sS', '--http2', '--fail-with-body', ...args]);
  const features = await run('curl', ['--version']).catch(() => ({ stdout: '' }));
  if (!features.stdout.includes('HTTP2')) return context.skip('needs curl with HTTP/2');
  const port = await listen(true, [() => {}, () => {}]);
  const { stdout } = await curl('--data-binary', 'hello', `http://127.0.0.1:${port}/a`);
  expect(stdout).toBe('POST /a hello\n');
  const { url } = await serveObjects(undefined);
  await curl('-X', 'PUT', '--data-binary', 'the object', `${url}/b/object`);
  expect((await curl(`${url}/b/object`)).stdout).toBe('the object');
});
