// `npm run suite -- fabtests DIR [pytest's arguments]`: runs AWS's own tests of the efa provider between two nodes of
// the software device. DIR is the folder of an installation of libfabric 2 and its fabtests. By default it runs the
// tests that AWS runs for pull requests, except those that need a GPU. `-m functional`, for example, selects others.
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { root, SetupError } from '../setup/step.mjs';
import { setup } from '../setup.mjs';
import { environmentOf } from '../stack/prefix.mjs';

// One test asks this machine's libibverbs whether fork() is safe. The device must give the same answer.
const PROBE = `
import ctypes, pytest, retrying, yaml
print(ctypes.CDLL('libibverbs.so').ibv_is_fork_initialized())
`;
// The tests add the number of a worker to port 9228. Each run has a random number, and so its own port.
const WORKERS = [1_000, 20_000];
const SECONDS = 120; // timeout of one program
const NO_GPU = ['-k', 'not cuda and not neuron and not rocr'];
const PULL_REQUESTS = ['-m', 'pr_ci'];

/** The folder of the tests, and the command and environment to run them. */
async function steps([folder, ...args]) {
  if (!folder) throw new SetupError("npm run suite -- fabtests DIR [pytest's arguments]");
  const prefix = resolve(folder);
  const tests = join(prefix, 'share/fabtests/pytest');
  if (!existsSync(join(tests, 'efa'))) throw new SetupError(`there are no tests in ${tests}`);
  const probe = spawnSync('/usr/bin/python3', ['-c', PROBE], { encoding: 'utf8' });
  if (probe.status !== 0) {
    throw new SetupError(`install python3's pytest, yaml and retrying: ${probe.stderr}`);
  }
  await setup();
  return {
    prefix,
    tests,
    forkStatus: probe.stdout.trim(),
    args: args.length > 0 ? args : PULL_REQUESTS,
  };
}

function variables({ prefix, forkStatus }, folder) {
  const env = environmentOf(prefix);
  return {
    ...process.env,
    ...env,
    PATH: `${join(root, 'scripts/stack')}:${env.PATH}`, // its ssh
    PYTEST_XDIST_WORKER: `gw${randomInt(...WORKERS)}`,
    LIBFABRIC_TEST_PRELOAD: join(root, 'build/Release/libsoftefa.so'),
    SOFTEFA_FORK_STATUS: forkStatus,
    SOFTEFA_NAMESPACE: `fabtests-${folder.slice(-6)}`,
  };
}

export default async function fabtests(given) {
  const wanted = await steps(given);
  const { prefix, tests, args } = wanted;
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-fabtests-'));
  const report = join(folder, 'report.xml');
  const line = [
    ...['-m', 'pytest', '-p', 'no:timeout', '-p', 'no:cacheprovider', '-v', '-rfEs', '--tb=short'],
    ...['--provider=efa', '--server-id=127.0.0.1', '--client-id=127.0.0.2'],
    ...['--oob-address-exchange', `--binpath=${prefix}/bin`, `--timeout=${SECONDS}`],
    `--exclusion-file=${prefix}/share/fabtests/test_configs/efa/efa.exclude`,
    ...[`--junit-xml=${report}`, ...NO_GPU, ...args, 'efa'],
  ];
  const env = variables(wanted, folder);
  const options = { cwd: tests, env, stdio: ['ignore', 'inherit', 'inherit'] };
  const { status } = spawnSync('/usr/bin/python3', line, options);
  const text = existsSync(report) ? readFileSync(report, 'utf8') : '';
  rmSync(folder, { recursive: true, force: true });
  const remove = ['softefa', '--namespace', env.SOFTEFA_NAMESPACE, '--remove'];
  spawnSync(process.execPath, [join(root, 'dist/cli/main.js'), ...remove], { stdio: 'inherit' });
  const count = (name) => Number(text.match(new RegExp(` ${name}="(\\d+)"`))?.[1] ?? 0);
  const failed = count('errors') + count('failures');
  const skipped = count('skipped');
  const early = status !== 0 && failed === 0 ? 1 : 0;
  return { passed: count('tests') - failed - skipped, failed: failed + early, skipped };
}
