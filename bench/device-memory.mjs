// Compares device memory with memory of the host on the software EFA device: `rma-bw` over efa-direct between two nodes,
// with memory of the host, with memory of a fake CUDA device as a dmabuf, and by FI_HMEM if libfabric has CUDA. It needs
// libfabric 2.1 or later (LD_LIBRARY_PATH names another one than the installed).
//   node bench/device-memory.mjs [--rounds 7] [--only <regex of operations>]
// Judges the median of the ratios of each round, whose runs follow each other. The fake does not represent a GPU: the
// ratio shows the cost of such memory in the package, libfabric and the device. The fake's memory is a memfd, which has
// pages of 4 KiB here, so the host's memory has them too. A further line shows it with huge pages.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { getParams, version } from 'libfabric';
import { softefaEnvironment } from 'libfabric/softefa';
import { freePort } from './fabtests-run.mjs';
import { buildLoops, built } from './harness/build.mjs';
import { benchOptions } from './harness/options.mjs';
import { median } from './harness/results.mjs';
import { align, number, sizeText } from './harness/table.mjs';

const SIZES = [65_536, 2 ** 20];
const BAR = 0.95;
const root = fileURLToPath(new URL('..', import.meta.url));
const fakes = join(root, 'test/programs/fake-cuda');
const { rounds, only } = benchOptions();
const outputOf = promisify(execFile);

/** Builds the fake driver and runtime in a folder. */
function buildFakes(folder) {
  const build = (name, files) => {
    const flags = ['-std=c++17', '-O2', '-shared', '-fPIC', '-fvisibility=hidden'];
    const link = [`-Wl,-soname,${name}`, '-Wl,-rpath,$ORIGIN', '-o', join(folder, name)];
    execFileSync('g++', [...flags, ...link, ...files], { cwd: fakes });
  };
  const apart = ['runtime.cc', 'gdrcopy.cc'];
  const sources = readdirSync(fakes).filter((name) => /\.cc$/.test(name));
  build(
    'libcuda.so.1',
    sources.filter((name) => !apart.includes(name)),
  );
  build('libcudart.so', ['runtime.cc', join(folder, 'libcuda.so.1')]);
}

/** Runs both sides, and returns the bandwidth of each size: 10^6 bytes a second. */
async function measure(operation, { memory = [], hugePages = false }, folder) {
  const what = ['-p', 'efa', '-f', 'efa-direct', '-o', operation, '-S', `l:${SIZES}`, '-W', '32'];
  const line = ['rma-bw', ...what, ...memory, `-E=${await freePort()}`, '--json'];
  const sides = [[], ['127.0.0.1']].map((host, node) => {
    const device = { namespace: `bench-${process.pid}`, keep: false, memlock: 'unlimited' };
    const env = {
      ...process.env,
      ...softefaEnvironment({ ...device, node }),
      LD_LIBRARY_PATH: [folder, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
    };
    const command = [process.execPath, join(root, 'dist/cli/main.js'), ...line, ...host];
    const [program, ...args] = hugePages ? command : [`${built}small-pages`, ...command];
    return outputOf(program, args, { env });
  });
  const [, { stdout: client }] = await Promise.all(sides);
  return JSON.parse(client).rows.map(({ megabytesPerSecond }) => megabytesPerSecond);
}

const hmem = getParams().some(({ name }) => name === 'FI_HMEM_CUDA_USE_GDRCOPY');
const HOST = 'host';
const HUGE = 'host, huge pages';
const memories = {
  [HOST]: {},
  [HUGE]: { hugePages: true },
  'dmabuf of the fake device': { memory: ['-D', 'cuda', '-R'] },
  ...(hmem && { 'FI_HMEM of the fake device': { memory: ['-D', 'cuda', '-H'] } }),
};
const operations = ['write', 'read'].filter((operation) => only.test(operation));
const folder = mkdtempSync(join(tmpdir(), 'libfabric-bench-'));
const samples = new Map();
try {
  buildFakes(folder);
  buildLoops();
  for (let round = 1; round <= rounds; round++) {
    for (const operation of operations) {
      for (const [name, memory] of Object.entries(memories)) {
        const found = await measure(operation, memory, folder);
        console.error(`round ${round} of ${rounds}, ${operation}, ${name}: ${found.map(number)}`);
        for (const [at, bandwidth] of found.entries()) {
          const key = `${operation} ${SIZES[at]} ${name}`;
          samples.set(key, [...(samples.get(key) ?? []), bandwidth]);
        }
      }
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}

const samplesOf = (operation, size, name) => samples.get(`${operation} ${size} ${name}`);
const rows = operations.flatMap((operation) =>
  SIZES.flatMap((size) =>
    Object.keys(memories).map((name) => {
      const found = samplesOf(operation, size, name);
      const host = samplesOf(operation, size, HOST);
      const ratio = median(found.map((bandwidth, round) => bandwidth / host[round]));
      const isJudged = name !== HOST && name !== HUGE;
      const judged = isJudged ? [number(ratio), ratio >= BAR ? 'met' : 'NOT MET'] : ['', ''];
      return [operation, sizeText(size), name, `${number(median(found))} MB/s`, ...judged];
    }),
  ),
);
console.log(
  `libfabric ${version().string}, ${rounds} rounds, the bar is ${BAR} of the host's memory`,
);
console.log(align([['rma-bw', 'size', 'memory', 'median', 'of host', ''], ...rows]));
process.exitCode = rows.some((row) => row.includes('NOT MET')) ? 1 : 0;
