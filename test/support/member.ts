// A process whose engine has joined a group: test/programs/membership.mjs.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { TransferEngineOptions } from 'libfabric/transfer';
import { onTestFinished } from 'vitest';
import type { Making } from '../programs/directory-kinds.mjs';
import { settle } from './settle.js';

export class Member {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor(
    making: Making,
    settings: TransferEngineOptions,
    ttl: number,
    finished: typeof onTestFinished = onTestFinished,
  ) {
    const program = fileURLToPath(new URL('../programs/membership.mjs', import.meta.url));
    const args = [program, JSON.stringify(making), JSON.stringify(settings), String(ttl)];
    this.child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface(this.child.stdout)[Symbol.asyncIterator]();
    finished(() => void this.child.kill('SIGKILL'));
  }

  /** The first line is the id of its engine. */
  async line(): Promise<string> {
    return (await settle(this.#lines.next())).value;
  }

  /** The token of memory that the process offers to its last peer. */
  offer(length: number): Promise<string> {
    this.child.stdin.write(String(length));
    return this.line();
  }

  /** Ends the standard input. Returns how the process ends. */
  async ends(): Promise<unknown[]> {
    const exit = once(this.child, 'exit');
    this.child.stdin.end();
    return settle(exit);
  }
}
