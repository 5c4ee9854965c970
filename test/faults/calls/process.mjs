// The coordinator's handle of a process of host.mjs.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sharedFilesOf } from '../../ends/residue.mjs';
import { Injector } from '../injector/injector.mjs';

const HANG = 30_000; // ms: longer than any run, also on a busy machine

const program = fileURLToPath(new URL('host.mjs', import.meta.url));

export class Host {
  #child;
  #injector = new Injector();
  #output = '';

  /** @param cold whether the first run opens the provider's devices */
  constructor(name, options, env, layer, cold) {
    const args = [name, JSON.stringify(options), layer, ...(cold ? ['cold'] : [])];
    this.#child = fork(program, args, {
      env: this.#injector.environment(env),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        this.#output += text;
      });
    }
  }

  get running() {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Runs the program with a plan. Throws if the process ends, hangs, or throws an exception that nothing catches. */
  async run(plan) {
    if (!this.running) throw this.#died();
    this.#child.send(plan);
    return this.#message();
  }

  ready() {
    return this.#message();
  }

  async #message() {
    const controller = new AbortController();
    const { signal } = controller;
    const timer = setTimeout(() => this.#child.kill('SIGABRT'), HANG);
    try {
      const message = once(this.#child, 'message', { signal }).then(([value]) => value);
      const end = once(this.#child, 'exit', { signal }).then(() => Promise.reject(this.#died()));
      const told = await Promise.race([message, end]);
      if (told.uncaught) throw new Error(`not caught: ${told.uncaught}`);
      return told;
    } finally {
      clearTimeout(timer);
      controller.abort();
    }
  }

  #died() {
    const { exitCode, signalCode } = this.#child;
    const how =
      signalCode === 'SIGABRT' ? 'hangs or aborts' : `ends with ${signalCode ?? exitCode}`;
    return new Error(`the process ${how}\n${this.#output.slice(-2000)}`);
  }

  async end() {
    if (this.running) {
      const exited = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await exited;
    }
    for (const file of sharedFilesOf(this.#child.pid)) rmSync(`/dev/shm/${file}`, { force: true });
    this.#injector.close();
  }
}
