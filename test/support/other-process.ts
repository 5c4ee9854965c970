// A process with its own endpoint, test/programs/peer.mjs, whose functions a test calls.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { afterEveryTest } from './every-test.js';
import { sharedMemoryOf } from './lifecycle.js';
import { settle } from './settle.js';

const program = fileURLToPath(new URL('../programs/peer.mjs', import.meta.url));

export interface OtherOptions {
  readonly provider: string;
  /** The domain's name. Default: the provider's first domain. */
  readonly domain?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** A command that runs the process, with its arguments. */
  readonly launcher?: readonly string[];
}

export interface Received {
  readonly bytes: Uint8Array;
  readonly tag: bigint;
}

interface Opened {
  readonly address: Uint8Array;
  /** The descriptor of a region of 1 MiB that peers may read and write. */
  readonly descriptor: Uint8Array;
}

interface Answer {
  readonly id: number;
  readonly value: unknown;
  readonly error?: Error;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const running = new Set<ChildProcess>();

afterEveryTest(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

export class OtherProcess {
  readonly child: ChildProcess;
  readonly address: Uint8Array;
  readonly descriptor: Uint8Array;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;

  private constructor(child: ChildProcess, { address, descriptor }: Opened) {
    this.child = child;
    this.address = address;
    this.descriptor = descriptor;
    child.on('message', ({ id, value, error }: Answer) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(Object.assign(new Error(), error));
    });
  }

  /** Resolves when the endpoint is open. The process is killed when the test ends. */
  static async start(options: OtherOptions): Promise<OtherProcess> {
    const { provider, domain, env = process.env, launcher = [] } = options;
    const [execPath = process.execPath, ...execArgv] = [...launcher, process.execPath];
    const child = fork(program, [provider, ...(domain === undefined ? [] : [domain])], {
      serialization: 'advanced',
      env,
      execPath,
      execArgv,
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    const [opened] = (await settle(once(child, 'message'))) as [Opened];
    return new OtherProcess(child, opened);
  }

  /** Calls a function of the program. Rejects with the error of that function. */
  ask<T = void>(call: string, ...args: unknown[]): Promise<T> {
    const id = this.#next++;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    this.child.send({ id, call, args });
    return settle(answer) as Promise<T>;
  }

  /** Kills the process. */
  async kill(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await settle(exited);
  }

  /** Closes the endpoint. The process must then end by itself and leave nothing in /dev/shm. */
  async close(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.send({ id: -1, call: 'close', args: [] });
    expect(await settle(exited)).toEqual([0, null]);
    expect(sharedMemoryOf(this.child.pid as number)).toEqual([]);
  }
}
