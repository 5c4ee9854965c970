// How `npm run suite -- efa` evaluates the programs of fabtests.
import { expect, test } from 'vitest';
import { play } from '../../scripts/stack/process.mjs';
import { freePort } from '../support/free-port.js';

const shell = (script: string) => ['sh', '-c', script, 'sh'];
const { env } = process;

test('exit status 0 passes, FI_ENODATA and FI_ENOSYS count as refused, any other fails', async () => {
  const alone = (script: string) => play(shell(script), [env], 0);
  expect(await alone('exit 0')).toEqual({ passed: true });
  expect(await alone('echo "fi_getinfo(): ret=-61 (No data available)"; exit 61')).toMatchObject({
    refused: true,
    why: 'FI_ENODATA fi_getinfo(): ret=-61 (No data available)',
  });
  expect(await alone('echo "fi_multi_ep: invalid option -- \'Q\'"; exit 1')).toMatchObject({
    refused: true,
    why: "invalid option -- 'Q'",
  });
  expect(await alone('exit 38')).toMatchObject({ refused: true, why: 'FI_ENOSYS' });
  expect(await alone('echo wrong data >&2; exit 1')).toEqual({
    failed: true,
    output: 'exit 1: wrong data',
  });
  expect(await alone('kill -SEGV $$')).toMatchObject({ failed: true, output: 'exit SIGSEGV: ' });
});

// With an address, the program is a client. Without, it is a server for one client, which fails on request.
const PROGRAM = `
  const { createServer, connect } = require('node:net');
  const [port, request, address] = process.argv.slice(1);
  if (address) {
    connect(Number(port), address).end(request);
    process.exitCode = request === 'client' ? 1 : 0;
  } else {
    const server = createServer((socket) => {
      server.close();
      socket.on('data', (text) => {
        process.exitCode = String(text) === 'server' ? 1 : 0;
      });
    }).listen(Number(port), '127.0.0.1');
  }`;

test('a client starts when its server listens, and both must pass', async () => {
  for (const [request, output] of [
    ['nothing'],
    ['server', 'exit 1: \nexit 0: '],
    ['client', 'exit 0: \nexit 1: '],
  ] as const) {
    const port = await freePort();
    const command = [process.execPath, '-e', PROGRAM, `${port}`, request];
    const result = await play(command, [env, env], port);
    expect(result).toEqual(output ? { failed: true, output } : { passed: true });
  }
});

test('a server that ends before it listens is evaluated alone', async () => {
  const result = await play(shell('exit 61'), [env, env], await freePort());
  expect(result).toMatchObject({ refused: true });
});
