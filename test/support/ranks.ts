// Processes of `libfabric all-to-all` and `libfabric pairwise`.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { softefaEnvironment } from 'libfabric/softefa';
import { afterEach } from 'vitest';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** How a process has ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

const running = new Set<ChildProcess>();

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts `libfabric` with arguments. */
export function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Started {
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  running.add(child);
  const texts = [child.stdout, child.stderr].map((stream) => {
    const text = { all: '' };
    stream.setEncoding('utf8').on('data', (more: string) => {
      text.all += more;
    });
    return text;
  });
  const ended = once(child, 'close').then(([code, signal]) => {
    running.delete(child);
    return { code, signal, stdout: texts[0]?.all ?? '', stderr: texts[1]?.all ?? '' };
  });
  return { child, ended };
}

/** Starts ranks one by one, as a launcher does: `rank` says the arguments and variables of each. */
export function startRanks(
  ranks: readonly number[],
  rank: (rank: number) => { args: readonly string[]; env?: NodeJS.ProcessEnv },
): Started[] {
  return ranks.map((number) => {
    const { args, env } = rank(number);
    return start(args, env);
  });
}

/** A port that nobody listens at. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Of the devices of all ranks. */
export const namespace = `ranks-${process.pid}`;

/** Variables of a rank that plays a host of its own, with software EFA devices. */
export const onNode = (node: number, nics = 1): NodeJS.ProcessEnv =>
  softefaEnvironment({ namespace, node, nics, memlock: 'unlimited' });

/** Resolves when a process has used so many seconds of a core: long after its start-up is over. */
export async function hasWorked({ child, ended }: Started, seconds: number): Promise<void> {
  const ticks = 100; // a second, on every Linux
  let over = false;
  ended.then(() => {
    over = true;
  });
  for (;;) {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    if (Number(fields[11]) + Number(fields[12]) >= seconds * ticks) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (over) throw new Error((await ended).stderr);
  }
}
