// examples/http-service and examples/grpc-service run over the fabric.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as tcp from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { withSoftefa } from '../support/softefa.js';

const fileOf = (name: string) => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

function start(name: string, ...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [fileOf(name), ...args], {
    env: withSoftefa(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const linesOf = (child: ChildProcess) =>
  createInterface(child.stdout as NodeJS.ReadableStream)[Symbol.asyncIterator]();

async function outputOf(child: ChildProcess): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(child) as AsyncIterable<string>) lines.push(line);
  return lines;
}

/** Two free ports, one after the other. */
async function twoPorts(): Promise<number> {
  for (;;) {
    const [first, next] = [tcp.createServer().listen(0), tcp.createServer()];
    await once(first, 'listening');
    const { port } = first.address() as tcp.AddressInfo;
    const isFree = await new Promise<boolean>((resolve) => {
      next.on('error', () => resolve(false)).listen(port + 1, () => resolve(true));
    });
    await Promise.all(
      [first, next].map((server) => new Promise((resolve) => server.close(resolve))),
    );
    if (isFree) return port;
  }
}

test.each(casesOf(['shm', 'efa'], (provider) => provider === 'efa'))(
  'the HTTP service answers over %s',
  async (provider) => {
    const server = start('http-service/server.mjs', provider, '0');
    const { value } = await linesOf(server).next();
    const port = /\d+/.exec(String(value))?.[0] as string;
    const lines = await outputOf(start('http-service/client.mjs', provider, port, '127.0.0.1'));
    expect(lines).toEqual([
      expect.stringMatching(/^hello .*127\.0\.0\.1, you asked for \/$/),
      '8000000 bytes there and back: right',
    ]);
  },
);

test.each(casesOf(['shm', 'efa', 'none'], (provider) => provider === 'shm'))(
  'the gRPC service answers over %s',
  async (provider) => {
    const port = String(await twoPorts());
    const server = start('grpc-service/server.mjs', provider === 'none' ? 'shm' : provider, port);
    await linesOf(server).next();
    const client = start('grpc-service/client.mjs', provider, port, '127.0.0.1');
    expect(await outputOf(client)).toEqual(['cirbaf eht revo']);
  },
);
