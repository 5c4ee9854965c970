// The README's programs do what it says.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { settle } from './support/transfer.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const programs = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map((match) => match[1] as string);

// Inside the package, so that its name leads to it.
let folder: string;
const children: ChildProcess[] = [];

beforeAll(() => {
  const build = join(root, 'build');
  mkdirSync(build, { recursive: true });
  folder = mkdtempSync(join(build, 'readme-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
});

/** Starts a program of the folder: what it prints, and how it ends. */
function start(...args: string[]) {
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, stderr }));
  });
  return { line: async () => (await settle(lines.next())).value, ended };
}

const CLEANLY = { code: 0, signal: null, stderr: '' };

test('hello.mjs carries its message from one process to the other', async () => {
  expect(readme).toMatch(/`hello\.mjs`; start it without an argument/);
  writeFileSync(join(folder, 'hello.mjs'), programs[0] as string);
  const receiver = start('hello.mjs');
  const command: string = await receiver.line();
  expect(command).toMatch(/^node hello\.mjs [A-Za-z0-9+/=]+$/);
  const sender = start(...command.split(' ').slice(1));
  expect(await receiver.line()).toBe('hello, fabric');
  expect(await settle(sender.ended)).toEqual(CLEANLY);
  expect(await settle(receiver.ended)).toEqual(CLEANLY);
});

test("the program that writes to a peer's memory runs to its end", async () => {
  const check = "\nconsole.log('moved', region.bytes.subarray(0, 1).length, a.closed, b.closed);\n";
  writeFileSync(join(folder, 'memory.mjs'), (programs[1] as string) + check);
  const program = start('memory.mjs');
  expect(await program.line()).toBe('moved 1 true true');
  expect(await settle(program.ended)).toEqual(CLEANLY);
});

test('the program with a software EFA device runs to its end', async () => {
  const source = programs.find((program) => program.includes('loadSoftefa')) as string;
  const check = '\nconsole.log(ep.info.domainAttr.name, ep.closed);\n';
  writeFileSync(join(folder, 'softefa.mjs'), source + check);
  const program = start('softefa.mjs');
  expect(await program.line()).toBe('softefa_0-rdm true');
  expect(await settle(program.ended)).toEqual(CLEANLY);
});

test('the program about devices and counters prints what it finds', async () => {
  const source = programs.find((program) => program.includes('libfabric/verbs')) as string;
  const device = "import { loadSoftefa } from 'libfabric/softefa';\nloadSoftefa();\n";
  writeFileSync(join(folder, 'verbs.mjs'), device + source);
  const program = start('verbs.mjs');
  const lines: (string | undefined)[] = [];
  const SAMPLE = '0n 0'; // after a second
  do lines.push(await program.line());
  while (lines.at(-1) !== undefined && lines.at(-1) !== SAMPLE);
  expect(lines).toContain(SAMPLE);
  expect(lines[0]).toMatch(/^softefa_0 0000:\S+ 100 \[/);
  expect(lines).toContainEqual(expect.stringMatching(/^undefined$/)); // no reason: there is one
  expect(lines).toContain('0n'); // tx_bytes
});
