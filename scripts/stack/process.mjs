// Runs programs of fabtests as processes: a single one, or a server and its client.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const LIMIT_MS = 300_000; // timeout for a program that hangs; long, because a busy machine may be very slow
const END_MS = 2_000; // timeout for a server whose client has failed, so that it can print the reason
const POLL_MS = 5;
const OUTPUT = 4_000; // characters that are kept from the end of the output
const REFUSED = { 38: 'FI_ENOSYS', 61: 'FI_ENODATA', 195: 'FI_ENODATA' }; // 195 is -61

class Program {
  #child;
  output = '';
  status; // set when it has exited

  constructor([file, ...args], env) {
    this.#child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.on('data', (text) => {
        this.output = (this.output + text).slice(-OUTPUT);
      });
    }
    this.ended = once(this.#child, 'close').then(([code, signal]) => {
      this.status = code ?? signal;
    });
  }

  /** Waits until the process ends, and kills it after the given time. */
  async end(milliseconds = LIMIT_MS) {
    const abort = new AbortController();
    const limit = delay(milliseconds, undefined, abort).catch(() => {});
    await Promise.race([this.ended, limit]);
    abort.abort();
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}

// The address and port of a line of /proc/net/tcp, and the state LISTEN.
function listens(port) {
  const wanted = new RegExp(
    `^ *\\d+: [0-9A-F]+:${port.toString(16).padStart(4, '0')} \\S+ 0A `,
    'mi',
  );
  return ['/proc/net/tcp', '/proc/net/tcp6'].some((file) =>
    wanted.test(readFileSync(file, 'utf8')),
  );
}

/** Runs a program, or a server and a client that find each other at `port`: `environments` has one for each. */
export async function play(command, environments, port) {
  const first = new Program(command, environments[0]);
  if (environments.length === 1) {
    await first.end();
    return resultOf([first]);
  }
  const deadline = Date.now() + LIMIT_MS;
  while (first.status === undefined && !listens(port) && Date.now() < deadline)
    await delay(POLL_MS);
  const programs = [first];
  if (first.status === undefined) {
    const client = new Program([...command, '127.0.0.1'], environments[1]);
    programs.push(client);
    await client.end();
    await first.end(client.status === 0 ? LIMIT_MS : END_MS);
  }
  return resultOf(programs);
}

// The result: passed, refused by the provider or by a release of fabtests without the option, or failed. `why` is one line;
// `output` has the details.
function resultOf(programs) {
  if (programs.every(({ status }) => status === 0)) return { passed: true };
  const output = programs.map((one) => `exit ${one.status}: ${one.output.trimEnd()}`).join('\n');
  const [noOption] = output.match(/(invalid|unrecognized) option.*/) ?? [];
  if (noOption) return { refused: true, why: noOption, output };
  const refuses = programs.find(({ status }) => REFUSED[status]);
  if (!refuses) return { failed: true, output };
  const line = refuses.output
    .trimEnd()
    .split('\n')
    .findLast((text) => /ret=|error/i.test(text));
  return { refused: true, why: `${REFUSED[refuses.status]} ${line ?? ''}`.trimEnd(), output };
}
