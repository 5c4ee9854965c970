// A process with an endpoint of its own, test/programs/peer.mjs, that does what a test asks for.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, expect } from 'vitest';
import { sharedMemoryOf } from './lifecycle.js';
import { settle } from './transfer.js';

const program = fileURLToPath(new URL('../programs/peer.mjs', import.meta.url));

export interface OtherOptions {
  readonly provider: string;
  /** The domain's name; the provider's first when left out. */
  readonly domain?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** A command that runs the process, with its arguments. */
  readonly launcher?: readonly string[];
}

export interface Received {
  readonly bytes: Uint8Array;
  readonly tag: bigint;
}

interface Hello {
  readonly address: Uint8Array;
  /** Of a region of 1 MiB, to be read and written. */
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

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

export class OtherProcess {
  readonly child: ChildProcess;
  readonly address: Uint8Array;
  readonly descriptor: Uint8Array;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;

  private constructor(child: ChildProcess, { address, descriptor }: Hello) {
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

  /** Resolves when its endpoint is open. It is killed when the test has ended. */
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
    const [hello] = (await settle(once(child, 'message'))) as [Hello];
    return new OtherProcess(child, hello);
  }

  /** Calls one of the program's functions there; rejects with what its error says. */
  ask<T = void>(call: string, ...args: unknown[]): Promise<T> {
    const id = this.#next++;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    this.child.send({ id, call, args });
    return settle(answer) as Promise<T>;
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await settle(exited);
  }

  /** Closes its endpoint, after which it must end by itself and leave nothing behind. */
  async close(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.send({ id: -1, call: 'close', args: [] });
    expect(await settle(exited)).toEqual([0, null]);
    expect(sharedMemoryOf(this.child.pid as number)).toEqual([]);
  }
}
