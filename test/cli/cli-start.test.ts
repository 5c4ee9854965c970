// npm start: the figures of each provider, and what to do next.
import { fileURLToPath } from 'node:url';
import { hasEfaDevice } from 'libfabric/softefa';
import { expect, test } from 'vitest';
import { slow } from '../support/cases.js';
import { run } from '../support/command.js';

const start = fileURLToPath(new URL('../../dist/cli/start/main.js', import.meta.url));

function started(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return run(process.execPath, [start, ...args], { ...process.env, ...env });
}

/** The lines of each provider, by its name. */
function providersIn(stdout: string): Record<string, string[]> {
  const blocks = stdout.split('\n\n').map((block) => block.split('\n'));
  const found = blocks.filter(
    (lines) => lines.length === 5 && /^(efa|shm|tcp)$/.test(lines[0] ?? ''),
  );
  return Object.fromEntries(found.map(([name = '', ...lines]) => [name, lines]));
}

test('prints four lines for each provider, and then what to do next', () => {
  const { stdout, stderr, status } = started([]);
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  const found = providersIn(stdout);
  expect(Object.keys(found)).toEqual(['efa', 'shm', 'tcp']);
  for (const [latency, bandwidth, promises, device] of Object.values(found)) {
    expect(latency).toMatch(/^ {2}latency {4}[\d.]+ µs for 64 B, half a round trip/);
    expect(bandwidth).toMatch(/^ {2}bandwidth {2}[\d.]+ MB\/s for 1 MiB, 64 writes in flight$/);
    expect(promises).toMatch(
      /^ {2}promises {3}[\d.]+ µs for 64 B, with a promise for each message/,
    );
    expect(device).toMatch(/^ {2}ran on {5}\S+: /);
  }
  if (!hasEfaDevice()) expect(found.efa?.[3]).toMatch(/softefa_0-rdm: a device in software/);
  expect(stdout).not.toContain('usec/xfer');
  expect(stdout).toMatch(
    /\nThe same transfers ran once more without a clock, and all data was verified\. Next:\n {2}npx libfabric doctor .*\n[\s\S]*npm start -- -v /,
  );
});

if (slow)
  test('-v prints the tables of all sizes, too', () => {
    const { stdout, stderr, status } = started(['-v'], { FI_PROVIDER: 'shm' });
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    expect(stdout.match(/^bytes .*usec\/xfer/gm)).toHaveLength(2);
    expect(stdout.match(/^8m /gm)).toHaveLength(2);
    expect(Object.keys(providersIn(stdout))).toEqual(['shm']);
  });

if (slow)
  test('on a terminal, it shows what runs', () => {
    const command = `'${process.execPath}' '${start}'`;
    const env = { ...process.env, TERM: 'xterm', FI_PROVIDER: 'shm' };
    const { stdout, status } = run('script', ['-qec', command, '/dev/null'], env);
    expect(status).toBe(0);
    const lines = stdout.split('\r\x1b[K');
    expect(lines).toContainEqual(expect.stringMatching(/^1\/3 shm latency 64, \d+ s/));
    expect(lines).toContainEqual(expect.stringMatching(/^2\/3 shm bandwidth 1m, \d+ s/));
    expect(lines).toContainEqual(expect.stringMatching(/^3\/3 shm promises, \d+ s/));
  });

test('another option is refused', () => {
  expect(started(['--all'])).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/--all.*\nThe only option is -v/),
  });
});
