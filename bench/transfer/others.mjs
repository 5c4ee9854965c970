// Other programs that write: ucx_perftest and fabtests' fi_rma_bw. Each function returns contenders, which resolve
// to the milliseconds that `bytes` take at the program's rate.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { figures, programIn } from '../fabtests-figures.mjs';
import { freePort, listening, runContender } from '../fabtests-run.mjs';
import { notPinned } from '../harness/pair.mjs';

const HOST = '127.0.0.1';
const MOVED = 2 ** 30; // bytes that a run of fi_rma_bw moves
const TIMEOUT = 60_000; // ms
const MB = 1e6;

export const hasUcx = spawnSync('ucx_perftest', ['-h']).error === undefined;

/**
 * UCX over these transports. It writes the same buffer again and again, `moved` bytes in a run. It starts slowly,
 * so short runs are not representative.
 */
export function ucx(transports, size, bytes, moved) {
  return async () => bytes / (await runUcx(transports, size, Math.ceil(moved / size))) / 1000;
}

/** MB/s. Those of ucx_perftest have 2^20 bytes. */
async function runUcx(transports, size, iterations) {
  const port = await freePort();
  const env = { ...process.env, UCX_TLS: transports, UCX_WARN_UNUSED_ENV_VARS: 'n' };
  const start = (core, args) => {
    const line = ['ucx_perftest', ...args, '-p', String(port)];
    const pinned = notPinned ? line : ['taskset', '-c', String(core), ...line];
    return spawn(pinned[0], pinned.slice(1), {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: TIMEOUT,
    });
  };
  const server = start(1, []);
  server.stdout.resume();
  try {
    await listening(port, { child: server });
    const count = ['-n', String(iterations), '-w', '100'];
    const client = start(0, [HOST, '-t', 'ucp_put_bw', '-s', String(size), ...count, '-f', '-v']);
    let output = '';
    client.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
    const [code] = await once(client, 'close');
    const [heading = '', values = ''] = output.trim().split('\n').slice(-2);
    const column = heading.split(',').indexOf('overall_bw');
    if (code !== 0 || column < 0) throw new Error(`ucx_perftest: exit ${code}\n${output}`);
    return (Number(values.split(',')[column]) * 2 ** 20) / MB;
  } finally {
    server.kill('SIGKILL');
  }
}

/** Whether a folder has fabtests' fi_rma_bw. */
export const hasFabtests = (directory) =>
  directory !== undefined && programIn(directory, 'rma-bw') !== undefined;

/** fabtests' fi_rma_bw, which writes the same buffer again and again. */
export function rmaBw(provider, directory, size, bytes) {
  const figure = figures.find(({ name }) => name === `rma-bw ${provider}`);
  const count = ['-S', String(size), '-I', String(Math.ceil(MOVED / size))];
  return async () => {
    const options = { directory, quick: true };
    const rows = await runContender({ ...figure, args: [...figure.args, ...count] }, 'C', options);
    return bytes / rows[0]['MB/sec'] / 1000;
  };
}
