// A process with a transfer engine that offers memory: test/programs/transfer-receiver.mjs.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { RemoteEngine, TransferEngine, TransferEngineOptions } from 'libfabric/transfer';
import { onTestFinished } from 'vitest';
import { withSoftefa } from './softefa.js';

/** Removes the files that a killed process of the shm provider leaves in /dev/shm: 16 MB for each endpoint. */
export function removeLeftovers({ pid }: ChildProcess): void {
  for (const file of readdirSync('/dev/shm')) {
    if (file.startsWith(`${pid}:`)) rmSync(`/dev/shm/${file}`, { force: true });
  }
}

interface Message {
  readonly id?: number;
  readonly ready?: boolean;
  readonly blocked?: boolean;
  readonly address?: string;
  readonly token?: string;
  readonly arrived?: string;
  readonly failed?: string;
  readonly released?: boolean;
}

/** An offer of the other process. Each promise resolves when the process has reported the event. */
export interface RemoteOffer {
  readonly token: string;
  /** The hash of the bytes, or the code of the failure. */
  readonly outcome: Promise<string>;
  readonly released: Promise<void>;
}

export class Receiver {
  readonly child: ChildProcess;
  readonly #waiting = new Map<string, (message: Message) => void>();
  #next = 0;

  /** @param node the softefa host that the process represents. */
  constructor(provider: string, nics: number, node = 0, settings: TransferEngineOptions = {}) {
    const program = fileURLToPath(new URL('../programs/transfer-receiver.mjs', import.meta.url));
    const env = provider === 'efa' ? withSoftefa({ nics, node }) : process.env;
    this.child = fork(program, [provider, String(nics), JSON.stringify(settings)], { env });
    this.child.on('message', (message: Message) => this.#told(message));
    onTestFinished(async () => {
      this.child.kill('SIGKILL');
      if (this.child.exitCode === null && this.child.signalCode === null) {
        await once(this.child, 'exit');
      }
      removeLeftovers(this.child);
    });
  }

  #told(message: Message): void {
    for (const what of Object.keys(message)) {
      const key = `${what}${message.id ?? ''}`;
      this.#waiting.get(key)?.(message);
      this.#waiting.delete(key);
    }
  }

  #hears(what: string, id: number | string = ''): Promise<Message> {
    return new Promise((resolve) => this.#waiting.set(`${what}${id}`, resolve));
  }

  /** Exchanges the addresses of the engines. */
  async meet(engine: TransferEngine): Promise<RemoteEngine> {
    await this.#hears('ready');
    const answer = this.#hears('address');
    this.child.send({ address: engine.address });
    return engine.peer((await answer).address as string);
  }

  /** Blocks the event loop of the process. */
  async block(milliseconds: number): Promise<void> {
    const blocked = this.#hears('blocked');
    this.child.send({ block: milliseconds });
    await blocked;
  }

  async offer(
    length: number,
    expires?: number,
    access: 'write' | 'read' = 'write',
  ): Promise<RemoteOffer> {
    const id = ++this.#next;
    const token = this.#hears('token', id);
    const outcome = Promise.race([
      this.#hears('arrived', id).then(({ arrived }) => arrived as string),
      this.#hears('failed', id).then(({ failed }) => failed as string),
    ]);
    const released = this.#hears('released', id).then(() => {});
    this.child.send({ offer: id, length, access, ...(expires !== undefined && { expires }) });
    return { token: (await token).token as string, outcome, released };
  }
}
