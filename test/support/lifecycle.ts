// Helpers of the lifetime tests: they run programs in processes of their own, check which files remain in /dev/shm,
// and drive manual engines.
import { spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Endpoint, type Peer, version } from 'libfabric';
import { expect } from 'vitest';
import { HANG_MS } from './limits.js';
import { type Ended, outputOf } from './output.js';
import { settle } from './settle.js';
import { withSoftefa } from './softefa.js';

export interface Outcome extends Ended {
  readonly pid: number;
}

export interface RunOptions {
  /** Options of Node itself, such as --expose-gc. */
  readonly node?: readonly string[];
  /** More environment variables. */
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Options of Node for programs with workers. Node.js 20.20 aborts if a worker ends while another thread compiles for it:
 * `Assertion failed: (data.first) != nullptr` in node_platform.cc, seen three times in ten runs of the suite.
 */
const optionsOf = (program: string) =>
  /worker|terminated|exit/.test(program) ? ['--no-concurrent-recompilation'] : [];

/** Runs a program of test/programs to its end. */
export async function runProgram(
  name: string,
  args: readonly (string | number)[] = [],
  { node = [], env = {} }: RunOptions = {},
): Promise<Outcome> {
  const program = fileURLToPath(new URL(`../programs/${name}.mjs`, import.meta.url));
  const child = spawn(
    process.execPath,
    [...optionsOf(name), ...node, program, ...args.map(String)],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...(args.includes('efa') ? withSoftefa() : process.env), ...env },
    },
  );
  const timer = setTimeout(() => child.kill('SIGKILL'), HANG_MS);
  const ended = await outputOf(child);
  clearTimeout(timer);
  return { pid: child.pid as number, ...ended };
}

/** Runs a program that must end by itself, print the expected text, and leave nothing in /dev/shm. */
export async function runCleanly(
  name: string,
  args: readonly (string | number)[],
  expected: { readonly code?: number; readonly stdout: string; readonly stderr?: RegExp },
  options: RunOptions = {},
): Promise<void> {
  const { code = 0, stdout, stderr = /^$/ } = expected;
  const outcome = await runProgram(name, args, options);
  const said = `${name} ${args.join(' ')}: ${JSON.stringify(outcome)}`; // the report prints the first line only
  expect(outcome, said).toEqual({
    pid: outcome.pid,
    code,
    signal: null,
    stdout: `${stdout}\n`,
    stderr: expect.stringMatching(stderr),
  });
  expect(sharedMemoryOf(outcome.pid)).toEqual([]);
}

const began = Date.now() - 100; // the clock of /dev/shm is coarse

/**
 * Returns the files in /dev/shm that a process of the shm provider has made since this program began. An
 * earlier process that was killed may have had the same pid.
 */
export function sharedMemoryOf(pid: number): string[] {
  const isNew = (file: string) =>
    (statSync(`/dev/shm/${file}`, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= began;
  return readdirSync('/dev/shm').filter((file) => file.startsWith(`${pid}:`) && isNew(file));
}

/** Polls a condition that no event reports. */
export async function until(condition: () => boolean, deadline = HANG_MS): Promise<void> {
  const end = performance.now() + deadline;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not true after ${deadline} ms: ${condition}`);
    await new Promise(setImmediate);
  }
}

/** Counts the outcomes of promises: 'ok', or the error's code. */
export async function tally(
  promises: readonly Promise<unknown>[],
): Promise<Record<string, number>> {
  const ends: Record<string, number> = {};
  for (const result of await Promise.allSettled(promises)) {
    const reason = result.status === 'rejected' ? result.reason : undefined;
    const end = result.status === 'fulfilled' ? 'ok' : (reason?.code ?? String(reason));
    ends[end] = (ends[end] ?? 0) + 1;
  }
  return ends;
}

/**
 * Sends one message, so that each endpoint knows the other: a peer of the shm provider must exist until its
 * first message has been read.
 */
export async function exchangeMessage(from: MessageEndpoint, to: MessageEndpoint): Promise<Peer> {
  const peer = from.av.insert(to.address);
  const received = to.recv(new Uint8Array(8));
  const sent = from.send(new Uint8Array(8), peer);
  await settle(Promise.all([sent, received]), from.domain, to.domain);
  return peer;
}

type MessageEndpoint = Endpoint<'FI_EP_RDM', 'FI_MSG'>;

/** The reason if a message of 1 MiB may be sent before the receiver requests it. */
export const sendsEarly = (provider: string) =>
  provider !== 'efa' && version().major >= 2 && 'shm and tcp of libfabric 2 send it at once';
