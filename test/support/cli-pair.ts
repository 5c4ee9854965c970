import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** What has become of one side. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running `libfabric` command. */
export interface Side {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** Starts `libfabric` with arguments. */
export function start(args: readonly string[], env: Record<string, string> = {}): Side {
  const child = spawn(process.execPath, [main, ...args], { env: { ...process.env, ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data) => {
    stdout += data;
  });
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  const ended = once(child, 'close').then(([code]) => ({ code, stdout, stderr }) as Ended);
  return { child, ended };
}

/** A TCP port that nothing listens at. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Runs a command on both sides, which meet at a port of their own, to the end. */
export async function runPair(
  args: readonly string[],
  both: { readonly server?: Record<string, string>; readonly client?: Record<string, string> } = {},
): Promise<{ readonly server: Ended; readonly client: Ended }> {
  const server = start(args, both.server);
  const client = start([...args, '127.0.0.1'], both.client);
  const [first, second] = await Promise.all([server.ended, client.ended]);
  return { server: first, client: second };
}
