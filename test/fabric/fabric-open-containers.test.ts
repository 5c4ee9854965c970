// Endpoints of shm in containers that share /dev/shm.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { CONTAINER, skipWithout } from '../support/containers.js';

skipWithout(CONTAINER, 'create a PID namespace');

const PROGRAM = new URL('../programs/shm-container.mjs', import.meta.url).pathname;
const fileOf = (address: string) => `/dev/shm/${address.replace('fi_shm://', '')}`;

class Container {
  readonly child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor() {
    const [command, ...args] = CONTAINER as [string, ...string[]];
    this.child = spawn(command, [...args, process.execPath, PROGRAM], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#lines = createInterface({ input: this.child.stdout! })[Symbol.asyncIterator]();
    onTestFinished(() => void this.child.kill('SIGKILL'));
  }
  async line(): Promise<string> {
    return (await this.#lines.next()).value;
  }
  say(line: string): Promise<string> {
    this.child.stdin!.write(`${line}\n`);
    return this.line();
  }
}

test('endpoints of shm in two containers have files of their own, and keep them', async () => {
  const [a, b] = [new Container(), new Container()];
  const first = await a.line();
  const second = await b.line();
  expect(first).toMatch(/^fi_shm:\/\/1:/); // the pids are equal
  expect(second).toMatch(/^fi_shm:\/\/1:/);
  expect(second).not.toBe(first);
  expect([first, second].map((address) => existsSync(fileOf(address)))).toEqual([true, true]);

  expect(await b.say('close')).toBe('closed');
  expect([first, second].map((address) => existsSync(fileOf(address)))).toEqual([true, false]);
  expect(await a.say('close')).toBe('closed');
  expect(existsSync(fileOf(first))).toBe(false);
});

test('an endpoint of shm in another container is refused as a peer', async () => {
  const [a, b] = [new Container(), new Container()];
  const first = await a.line();
  await b.line();
  expect(await b.say(`send ${first}`)).toBe('FI_EADDRNOTAVAIL');
  expect(await b.say('close')).toBe('closed');
  expect(await a.say('close')).toBe('closed');
});
