// The benchmark of the software EFA device compares the efa provider on the device with the shm
// provider, and the device's RMA with the system calls that it uses. Both sides are in C++, in
// synchronous mode, on two nodes.
//   node bench/softefa.mjs [--rounds 7] [--only <regex of figures>] [--quick]
// Judges ratios of medians over all rounds and writes build/bench/softefa.json.
import { writeFileSync } from 'node:fs';
import { softefaEnvironment } from 'libfabric/softefa';
import { buildLoops, built } from './harness/build.mjs';
import { coreHopNs, describeMachine } from './harness/machine.mjs';
import { benchOptions } from './harness/options.mjs';
import { notPinned } from './harness/pair.mjs';
import { median } from './harness/results.mjs';
import { takeRounds } from './harness/rounds.mjs';
import { barsTable, mediansTable } from './harness/table.mjs';

const MIB = 2 ** 20;
const PASSES = 5;

const { options, rounds, only, divisor } = benchOptions();

/** A loop of bench/cpp or bench/softefa. */
const plain = (name, loop) => ({ name, sides: (role) => [`${built}${loop}`, role] });

/** A loop over efa. Its sides are two nodes, so that efa does not use shm between them. */
const efa = (name, loop, ...args) => ({
  name,
  sides(role) {
    const variables = softefaEnvironment({
      namespace: `bench-${process.pid}`,
      keep: false,
      node: role === 'server' ? 0 : 1,
      asynchronous: false,
      memlock: 'unlimited',
    });
    const environment = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    const device = ['env', 'FI_EFA_ENABLE_SHM_TRANSFER=0', ...environment];
    return [...device, `${built}${loop}`, role, '--provider', 'efa', ...args];
  },
});

const RDM = efa('efa RDM', 'pingpong');
const DGRAM = efa('efa DGRAM', 'pingpong', '--dgram');
const SHM = plain('shm RDM', 'pingpong');

const bandwidth = (verb) => ({
  name: `${verb} bandwidth`,
  sizes: { [MIB]: 512 },
  passes: PASSES,
  contenders: [efa('efa RDM', verb), plain(`process_vm_${verb}v`, `copy-${verb}`)],
});

const groups = [
  {
    name: 'half round trip',
    sizes: { 64: 20_000 },
    passes: PASSES,
    contenders: [SHM, RDM, DGRAM],
  },
  // Two processes poll on one core, so the waiting one must yield to the other.
  {
    name: 'half round trip, one core',
    sizes: { 64: 5_000 },
    passes: PASSES,
    cores: [0, 0],
    contenders: [RDM, DGRAM],
  },
  bandwidth('write'),
  bandwidth('read'),
].filter((group) => only.test(group.name));

// A scheduler slice takes at least 3 ms.
const ONE_CORE_US = 100;

const bars = [
  ['half round trip', 64, 'efa RDM', 'time', 10, 'shm RDM'],
  ['half round trip', 64, 'efa DGRAM', 'time', 7, 'shm RDM'],
  ['half round trip, one core', 64, 'efa RDM', 'value', ONE_CORE_US],
  ['half round trip, one core', 64, 'efa DGRAM', 'value', ONE_CORE_US],
  ['write bandwidth', MIB, 'efa RDM', 'speed', 0.8, 'process_vm_writev'],
  ['read bandwidth', MIB, 'efa RDM', 'speed', 0.8, 'process_vm_readv'],
]
  .filter(([group]) => groups.some(({ name }) => name === group))
  .map(([group, size, contender, kind, limit, against]) => ({
    group,
    size,
    contender,
    kind,
    limit,
    against,
  }));

const machine = describeMachine();
buildLoops();
buildLoops('softefa');

const coreHops = []; // in ns, measured before every figure of every round
const { results, failures } = await takeRounds(groups, rounds, {
  divisor,
  before() {
    if (!notPinned) coreHops.push(coreHopNs());
  },
});

const samples = results.toJSON();
const judged = bars.map((bar) => results.judge(bar));
const record = {
  machine,
  options: { ...options, rounds },
  notes: notPinned ? [`sides not pinned: ${notPinned}`] : [],
  failures: Object.fromEntries(failures),
  coreHopNs: coreHops,
  samples,
  bars: judged,
};
writeFileSync(`${built}softefa.json`, `${JSON.stringify(record, null, 2)}\n`);

console.log(`${mediansTable(samples)}\n`);
console.log(`${barsTable(judged)}\n`);
for (const [key, message] of failures) console.log(`failed: ${key}: ${message}`);
for (const note of record.notes) console.log(`note: ${note}`);
const hop = coreHops.length > 0 ? `, core to core ${median(coreHops).toFixed(0)} ns` : '';
console.log(
  `${rounds} rounds on ${machine.cores} x ${machine.cpu}, libfabric ${machine.libfabric}${hop}`,
);
