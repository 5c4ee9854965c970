// The coordinator's handle of a process that runs rounds.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Channel } from './channel.mjs';
import { sharedFilesOf } from './residue.mjs';

const program = fileURLToPath(new URL('host.mjs', import.meta.url));

export class Party extends Channel {
  #child;
  #env;
  #errors = '';
  #addresses = [];
  /** The last step that it reported. */
  step = 'starting';
  /** Resolves with code and signal. */
  exited;
  /** The number of rounds that it has run. */
  rounds = 0;

  constructor(env) {
    const child = fork(program, {
      env,
      serialization: 'advanced',
      stdio: ['ignore', 2, 'pipe', 'ipc'],
    });
    super((message) => child.connected && child.send(message));
    this.#child = child;
    this.#env = env;
    this.exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
    child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#errors += text;
    });
    child.on('message', (message) => {
      if (message.name === 'address') this.#addresses.push(message.value);
      else this.step = message.name === 'step' ? message.value : message.name;
      if (message.name !== 'address' && message.name !== 'step') this.receive(message);
    });
  }

  get pid() {
    return this.#child.pid;
  }

  get running() {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Its output on stderr since the last call. Normally empty. */
  takeErrors() {
    const text = this.#errors;
    this.#errors = '';
    return text;
  }

  /** Its files in /dev/shm. */
  get files() {
    const named = this.#env.FI_EFA_ENABLE_SHM_TRANSFER === undefined ? [] : this.#addresses;
    return sharedFilesOf(this.pid, named);
  }

  /** Kills it if it still runs, and removes the files that it could not remove itself. */
  async cleanUp() {
    if (this.running) this.#child.kill('SIGKILL');
    await this.exited;
    for (const file of this.files) rmSync(`/dev/shm/${file}`, { force: true });
  }

  signal(name) {
    this.#child.kill(name);
  }

  /** Resolves when a signal has stopped it. The kernel reports that only to waitpid(2) of the parent. */
  async stopped() {
    while (this.running && !/^State:\tT/m.test(statusOf(this.pid))) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

function statusOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}
