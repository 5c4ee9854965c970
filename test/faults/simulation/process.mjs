// The coordinator's handle of a process of the simulation.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sharedFilesOf } from '../../ends/residue.mjs';
import { Injector } from '../injector/injector.mjs';

/** ms: longer than any answer takes. */
const HANG = 60_000;

const program = fileURLToPath(new URL('player.mjs', import.meta.url));

/** The package has failed: a crash, a hang, or unexpected output. */
export class Failure extends Error {}

export class Player {
  #child;
  #waiting = new Map();
  #next = 0;
  #output = '';
  #killed = false;
  #files = new Set();
  injector = new Injector();
  /** The seeds of the programs that it has run. */
  programs = [];

  constructor(index, memlock, env) {
    this.index = index;
    this.memlock = memlock;
    this.#child = fork(program, {
      env: this.injector.environment(env),
      execArgv: ['--expose-gc'],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        this.#output += text;
      });
    }
    this.#child.on('message', ({ id, ...answer }) => this.#end(id, answer));
    this.#child.on('error', () => {}); // of a message to a process that has exited
    this.#child.on('exit', () => {
      for (const id of this.#waiting.keys()) this.#end(id, { ended: true });
    });
  }

  get running() {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Calls a function of the process, which may take `longer` ms. Resolves with undefined if the process was killed on
   * purpose.
   */
  async ask(call, value, longer = 0) {
    const id = this.#next++;
    let timer;
    const answer = await new Promise((resolve) => {
      timer = setTimeout(() => this.#end(id, { hangs: true }), HANG + longer);
      this.#waiting.set(id, resolve);
      if (this.running) this.#child.send({ id, call, value });
      else this.#end(id, { ended: true });
    });
    clearTimeout(timer);
    if (answer.ended && this.#killed) return undefined;
    if (answer.ended) throw new Failure(`process ${this.index} ${this.#howItEnded()} in ${call}`);
    if (answer.hangs) throw new Failure(`process ${this.index} hangs in ${call}`);
    if (answer.error) throw Object.assign(new Error(answer.error.stack), answer.error);
    for (const file of answer.value?.files ?? []) this.#files.add(file);
    return answer.value;
  }

  #end(id, answer) {
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }

  #howItEnded() {
    const { signalCode, exitCode } = this.#child;
    return `ends with ${signalCode ?? exitCode}: ${this.#output.slice(-3000)}`;
  }

  get pid() {
    return this.#child.pid;
  }

  signal(name) {
    if (name === 'SIGKILL') this.#killed = true;
    this.#child.kill(name);
  }

  /** Kills it and removes the files that it could not remove itself. */
  async end() {
    if (this.running) {
      const exited = once(this.#child, 'exit');
      this.signal('SIGKILL');
      await exited;
    }
    const files = [...this.#files, ...sharedFilesOf(this.pid)];
    for (const file of files) rmSync(`/dev/shm/${file}`, { force: true });
    this.injector.close();
  }
}
