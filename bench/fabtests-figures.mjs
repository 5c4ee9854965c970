// The benchmarks that are compared with fabtests, and their bars.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { softefaEnvironment } from 'libfabric/softefa';

const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

/** Bandwidth is ours/theirs, at least. Latency is ours/theirs, at most. */
const BANDWIDTH = { field: 'MB/sec', mean: 0.97, each: 0.9, atLeast: true };
const latency = (mean, each) => ({ field: 'usec/xfer', mean, each, atLeast: false });
const LATENCY = { shm: latency(1.2, 1.4), tcp: latency(1.1), efa: latency(1.1) };
const DATAGRAMS = latency(1.1);

/** Options and environment of a side over a provider. Each run has its own `port`. */
const PROVIDER_OPTIONS = {
  // fabtests derive the names of shm endpoints from the local port. By default both sides have the same.
  shm: (role, port) => ({
    args: ['-p', 'shm', '-B', String(role === 'server' ? port : port + 1)],
  }),
  tcp: () => ({ args: ['-p', 'tcp', '-s', '127.0.0.1'] }),
  udp: () => ({ args: ['-p', 'udp', '-s', '127.0.0.1'] }),
  // Server and client are two nodes, so that efa does not use shm between them.
  efa: (role) => ({
    args: ['-p', 'efa'],
    env: softefaEnvironment({
      namespace: `bench-${process.pid}`,
      keep: false,
      node: role === 'server' ? 0 : 1,
      asynchronous: false,
      memlock: 'unlimited',
    }),
  }),
};

const over = (providers, command, barOf, args = []) =>
  providers.map((provider) => ({
    name: `${command} ${provider}`,
    command,
    provider,
    args,
    bar: barOf(provider),
    place: PROVIDER_OPTIONS[provider],
  }));

const RELIABLE = ['shm', 'tcp', 'efa'];
const bandwidth = (command, args) => over(RELIABLE, command, () => BANDWIDTH, args);
const pingpong = (command) => over(RELIABLE, command, (provider) => LATENCY[provider]);

export const figures = [
  ...bandwidth('rma-bw', ['-o', 'write']),
  ...bandwidth('rdm-bw'),
  ...bandwidth('rdm-tagged-bw'),
  ...pingpong('rdm-pingpong'),
  ...pingpong('rdm-tagged-pingpong'),
  ...pingpong('rdm-cntr-pingpong'),
  ...over(['udp'], 'dgram-pingpong', () => DATAGRAMS),
  // fabtests find efa's datagram endpoints only with room for its header (-k).
  ...over(['efa'], 'dgram-pingpong', () => DATAGRAMS, ['-k']),
];

/** The program of a benchmark in a build or an installation of fabtests; undefined if there is none. */
export function programIn(directory, command) {
  const name = `fi_${command.replaceAll('-', '_')}`;
  const places = [`${directory}/benchmarks/${name}`, `${directory}/bin/${name}`];
  return places.find((path) => existsSync(path));
}

/** The command that starts a contender, `'C'` or `'ours'`, without options. */
export const launch = (contender, directory, command) =>
  contender === 'C' ? [programIn(directory, command)] : [process.execPath, main, command];
