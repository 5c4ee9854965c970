// Two sides of a command, each a process of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { main } from './command.js';

/** How a side has ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A TCP port that nobody has. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts `npx libfabric ...args`. */
export function start(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [main, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const texts = ['', ''];
  for (const [i, stream] of [child.stdout, child.stderr].entries()) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      texts[i] += text;
    });
  }
  const ended = once(child, 'close').then(([code]) => {
    const [stdout = '', stderr = ''] = texts;
    return { code: code as number | null, stdout, stderr };
  });
  return { child, ended };
}

/** Runs both sides of a command to their ends; addresses are exchanged beside the fabric. */
export async function sides(
  command: string,
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
  oob = '-E',
): Promise<{ server: Ended; client: Ended }> {
  const common = [command, ...args, `${oob}=${await freePort()}`];
  const server = start(common, env);
  const client = start([...common, '127.0.0.1'], env);
  const [a, b] = await Promise.all([server.ended, client.ended]);
  return { server: a, client: b };
}
