// Commands show their progress on a terminal, and not in a pipe.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { slow } from '../support/cases.js';
import { libfabric, main, run, start } from '../support/command.js';
import { freePort } from '../support/free-port.js';

const TERMINAL = { ...process.env, TERM: 'xterm' };

/** Runs a command in a terminal, which script(1) provides. Returns the output. */
function onTerminal(...args: string[]): string {
  const command = [process.execPath, main, ...args].map((each) => `'${each}'`).join(' ');
  const { stdout, status } = run('script', ['-qec', command, '/dev/null'], TERMINAL);
  expect(status).toBe(0);
  return stdout;
}

/** Returns the step and the name of each progress line. */
const stepsIn = (text: string) =>
  text.split('\r\x1b[K').flatMap((line) => {
    const [, step, what] = /^(\d+\/\d+) (.*?), \d+ s/.exec(line) ?? [];
    return step === undefined ? [] : [`${step} ${what}`];
  });

/** Returns the text that remains on the terminal. */
const remaining = (text: string) =>
  text
    .split('\r\n')
    .map((line) => line.split('\r\x1b[K').at(-1))
    .join('\n');

test('a benchmark shows the current size, and its rows remain', async () => {
  const oob = `-E=${await freePort()}`;
  const args = ['rma-bw', '-p', 'shm', '-S', 'l:64,256', '-I', '64', oob];
  const server = start(args);
  const text = onTerminal(...args, '127.0.0.1');
  expect(new Set(stepsIn(text))).toEqual(new Set(['1/2 64 bytes', '2/2 256 bytes']));
  expect(remaining(text)).toMatch(/^bytes .*\n64 .*\n256 .*\n$/);
  const { code, stderr } = await server.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

if (slow)
  test('transfer shows the current size and how far it is', async () => {
    const args = ['transfer', '-p', 'shm', '-S', 'l:64K,1M', '-I', '20', `-E=${await freePort()}`];
    const server = start(args);
    const text = onTerminal(...args, '127.0.0.1');
    const steps = Array.from(
      { length: 20 },
      (_, i) => `${i + 1}/20 ${i < 10 ? '64k' : '1m'} bytes`,
    );
    expect(new Set(stepsIn(text))).toEqual(new Set(steps));
    expect(remaining(text)).toMatch(/^bytes .*\n64k .*\n1m .*\n$/);
    const { code, stderr } = await server.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

if (slow)
  test('check shows the running check', async () => {
    const args = ['check', '-p', 'tcp', '--only', 'inject,cq-data', `-E=${await freePort()}`];
    const server = start(args);
    const text = onTerminal(...args, '127.0.0.1');
    expect(new Set(stepsIn(text))).toEqual(new Set(['1/2 cq-data', '2/2 inject']));
    expect(remaining(text)).toMatch(/^cq-data .*\ninject .*\n2 checks over .*\n$/);
    const { code, stderr } = await server.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

if (slow)
  test('pairwise shows the running pair, and all-to-all the running part', () => {
    const ranks = ['--local', '2', '-p', 'shm', '-I', '64', '-S', '64'];
    const pairs = onTerminal('pairwise', ...ranks);
    expect(new Set(stepsIn(pairs))).toEqual(
      new Set([
        ...['1/2 ranks connected', '2/2 ranks connected'],
        ...['1/2 rank 0 to 1', '2/2 rank 1 to 0'],
      ]),
    );
    expect(remaining(pairs)).toMatch(/^shm, 2 ranks on 1 host/);
    const parts = stepsIn(onTerminal('all-to-all', ...ranks));
    expect(parts).toContain('2/2 all pairs at once, 64 transfers each');
  });

test('a pipe gets no progress, even if the errors go to a terminal', () => {
  const ranks = ['pairwise', '--local', '2', '-p', 'shm', '-I', '64', '-S', '64'];
  expect(libfabric(ranks, TERMINAL).stderr).toBe('');
  const folder = mkdtempSync(join(tmpdir(), 'progress-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const command = `'${process.execPath}' '${main}' ${ranks.join(' ')} | cat > '${folder}/out'`;
  expect(run('script', ['-qec', command, '/dev/null'], TERMINAL).stdout).toBe('');
  expect(readFileSync(join(folder, 'out'), 'utf8')).toMatch(/^shm, 2 ranks/);
});
