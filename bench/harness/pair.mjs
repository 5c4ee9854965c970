// Runs one contender: its sides are child processes, each pinned to a core, by default to its own. This
// class relays the lines that the sides exchange, except that `ready` waits for the contender's turn. A
// step lets both sides run from one `ready` to the next. Between its steps the contender is stopped
// (SIGSTOP), so that contenders can alternate within fractions of a second without disturbing each
// other.
import { spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';

const hasTaskset = spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/** The reason why sides are not pinned; undefined if they are. */
export const notPinned =
  availableParallelism() < 2 ? 'one core only' : hasTaskset ? undefined : 'taskset is missing';

const live = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    for (const child of live) child.kill('SIGKILL');
    process.exit(1);
  });
}

export class Pair {
  #sides;
  #measurements = [];
  #timeoutMs;
  #failure;
  #changed = () => {};

  /**
   * @param {string[][]} commands one command line per side: [server, client], or a single one
   * @param {number[]} cores the core of each side
   */
  constructor(commands, timeoutMs = 30_000, cores = [0, 1]) {
    this.#timeoutMs = timeoutMs;
    this.#sides = commands.map((command, i) => this.#startSide(command, cores[i]));
  }

  get ended() {
    return this.#sides.every((side) => side.ended);
  }

  /** Runs until all sides wait for their next turn or have ended. Returns their measurements. */
  async settle() {
    let timer;
    const settled = new Promise((resolve, reject) => {
      timer = setTimeout(
        () => reject(new Error(`timed out after ${this.#timeoutMs} ms`)),
        this.#timeoutMs,
      );
      this.#changed = () => {
        if (this.#failure) reject(this.#failure);
        else if (this.#sides.every((side) => side.ready || side.ended)) resolve();
      };
      this.#changed();
    });
    try {
      await settled;
    } catch (error) {
      this.kill();
      throw error;
    } finally {
      clearTimeout(timer);
      this.#changed = () => {};
    }
    this.#signal('SIGSTOP');
    return this.#measurements.splice(0);
  }

  /** Runs one turn. */
  step() {
    this.#signal('SIGCONT');
    for (const side of this.#sides) {
      if (!side.ready) continue;
      side.ready = false;
      side.child.stdin.write('ready\n');
    }
    return this.settle();
  }

  kill() {
    this.#signal('SIGKILL');
  }

  #signal(signal) {
    for (const side of this.#sides) if (!side.ended) side.child.kill(signal);
  }

  #startSide(command, core) {
    const line = notPinned ? command : ['taskset', '-c', String(core), ...command];
    const child = spawn(line[0], line.slice(1), { stdio: ['pipe', 'pipe', 'pipe'] });
    const side = { child, ready: false, ended: false };
    live.add(child);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr = (stderr + text).slice(-2000);
    });
    child.stdin.on('error', () => {}); // the exit code reports a side that ended early
    createInterface({ input: child.stdout }).on('line', (text) => this.#onLine(side, text));
    child.on('error', (error) => this.#fail(error));
    child.on('close', (code, signal) => {
      live.delete(child);
      side.ended = true;
      const how = signal ?? `exit ${code}`;
      if (code === 0) this.#changed();
      else this.#fail(new Error(`${command.join(' ')}: ${how}\n${stderr.trim()}`));
    });
    return side;
  }

  #onLine(side, text) {
    if (text === '> ready') {
      side.ready = true;
      this.#changed();
    } else if (text.startsWith('> ')) {
      const peer = this.#sides.find((other) => other !== side) ?? side;
      peer.child.stdin.write(`${text.slice(2)}\n`);
    } else if (text.startsWith('{')) {
      this.#measurements.push(JSON.parse(text));
    }
  }

  #fail(error) {
    this.#failure ??= error;
    this.#changed();
  }
}
