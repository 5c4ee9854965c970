import { type ChildProcess, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { call } from '../support/call.js';
import { HANG_MS } from '../support/limits.js';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

function libfabric(...args: string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', timeout: HANG_MS });
}

/** Returns the domains that a program under `libfabric softefa` finds. */
function devices(...options: string[]): string[] {
  const program = `
    import { getInfo } from 'libfabric';
    const found = getInfo({ fabricAttr: { provName: 'efa' } });
    console.log(JSON.stringify(found.map((info) => info.domainAttr.name)));`;
  const script = ['--input-type=module', '-e', program];
  const { stdout, stderr } = libfabric('softefa', ...options, '--', process.execPath, ...script);
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

test('a command finds one device with an RDM and a DGRAM domain', () => {
  expect(new Set(devices())).toEqual(new Set(['softefa_0-rdm', 'softefa_0-dgrm']));
});

test('--nics sets the number of devices', () => {
  const names = devices('--nics', '3', '--node', '2', '--namespace', 'three');
  expect(new Set(names)).toEqual(
    new Set([0, 1, 2].flatMap((nic) => [`softefa_${nic}-rdm`, `softefa_${nic}-dgrm`])),
  );
});

test('the exit status is that of the command, or 128 plus its signal', () => {
  expect(libfabric('softefa', '--', 'sh', '-c', 'exit 7').status).toBe(7);
  expect(libfabric('softefa', '--', 'sh', '-c', 'kill -9 $$').status).toBe(137);
});

test('options after the command belong to the command', () => {
  expect(libfabric('softefa', 'echo', '--nics', '2').stdout).toBe('--nics 2\n');
});

test('--env prints variables for a shell', () => {
  const flags = ['--nics', '2', '--async', '--direct', '--rate', '1000000'];
  const { stdout } = libfabric('softefa', '--env', ...flags);
  const script = `${stdout}\necho "$SOFTEFA_NICS $SOFTEFA_ASYNC $SOFTEFA_DIRECT $SOFTEFA_RATE"`;
  expect(spawnSync('sh', ['-c', script], { encoding: 'utf8' }).stdout).toBe('2 1 1 1000000\n');
  expect(stdout).toMatch(/^export LD_PRELOAD='\/.*libsoftefa\.so'$/m);
});

test.each([
  ['no-such-program', 127, 'command not found'],
  [main.replace(/main\.js$/, 'no-such-file.js'), 127, 'command not found'],
  ['/etc/passwd', 126, 'cannot be executed (EACCES)'],
  ['/etc', 126, 'cannot be executed (EACCES)'],
  ['/etc/passwd/program', 126, 'cannot be executed (ENOTDIR)'],
])('the command %s exits with %i, as in a shell', (command, status, reason) => {
  const ended = libfabric('softefa', '--', command);
  expect(ended).toMatchObject({ status, stdout: '', stderr: `${command}: ${reason}\n` });
});

test('a missing command is an error', () => {
  const none = libfabric('softefa');
  expect(none.status).toBe(1);
  expect(none.stderr).toContain('Usage: libfabric softefa');
});

test.each([
  [['--nics', '0'], 'options.nics must be an integer from 1 to 64, got 0'],
  [['--nics', 'two'], 'It is not a number.'],
  [['--namespace', '../x'], 'options.namespace must be 1 to 40 letters'],
  [['--caps', 'NONE'], 'options.capabilities must be one of'],
])('%j is refused with the reason', async (options, reason) => {
  const { status, stderr } = await call('softefa', ...options, '--', 'true');
  expect(status).toBe(1);
  expect(stderr).toContain(reason);
});

const KEYS = [
  ['SIGINT', '\x03'],
  ['SIGQUIT', '\x1c'],
] as const;
const FORWARDED = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGALRM', 'SIGUSR1'] as const;

describe('a signal', () => {
  // The parent forwards SIGUSR2, and earlier the signal if it forwards that.
  const counting = (signal: string) => `
    let count = 0;
    process.on('${signal}', () => {
      count++;
      process.kill(process.ppid, 'SIGUSR2');
    });
    process.on('SIGUSR2', () => {
      console.log('received: ' + count);
      process.exit(7);
    });
    setInterval(() => {}, 1000);
    console.log('ready');`;
  const commandOf = (program: string) => [main, 'softefa', '--', process.execPath, '-e', program];

  /** Sends a process a signal when its command is ready. Returns how the process ends. */
  async function signaled(child: ChildProcess, send: () => void) {
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (!output.includes('ready') && (output + text).includes('ready')) send();
      output += text;
    });
    const [code] = await once(child, 'close');
    return { code, received: /received: \d+/.exec(output)?.[0] };
  }

  test.for(KEYS)(
    '%s of a terminal, which signals the command itself, is not forwarded again',
    async ([signal, key], context) => {
      context.skip(spawnSync('script', ['--version']).error !== undefined, 'no script(1)');
      const words = [process.execPath, ...commandOf(counting(signal))];
      const line = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
      // No shell in between: the key would kill it, too.
      const child = spawn('script', ['-qec', `exec ${line}`, '/dev/null']);
      const ended = await signaled(child, () => child.stdin.write(key));
      expect(ended).toEqual({ code: 7, received: 'received: 1' });
    },
  );

  test.each(FORWARDED)('%s that only the parent receives is forwarded', async (signal) => {
    const child = spawn(process.execPath, commandOf(counting(signal)), { detached: true });
    const ended = await signaled(child, () => child.kill(signal));
    expect(ended).toEqual({ code: 7, received: 'received: 1' });
  });

  test.each(['SIGQUIT', 'SIGALRM'] as const)(
    '%s that ends the command is its status',
    async (signal) => {
      const program = "setInterval(() => {}, 1000); console.log('ready');";
      // Without core files.
      const shell = ['-c', 'ulimit -c 0; exec "$@"', 'sh', process.execPath, ...commandOf(program)];
      const child = spawn('sh', shell, { detached: true });
      const { code } = await signaled(child, () => child.kill(signal));
      expect(code).toBe(128 + constants.signals[signal]);
    },
  );
});
