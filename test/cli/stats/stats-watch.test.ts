// npx libfabric stats
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { softefaEnvironment } from 'libfabric/softefa';
import { afterEach, expect, test } from 'vitest';
import { call } from '../../support/call.js';
import { libfabric, main } from '../../support/command.js';
import { addConnectX, FakeSysfs, hasRdmaDevice } from '../../support/fake-sysfs.js';
import { OtherProcess } from '../../support/other-process.js';
import { ownNamespace } from '../../support/own-namespace.js';
import { closed, crowd, stranger } from '../../support/strangers.js';

const env = {
  ...process.env,
  FI_EFA_ENABLE_SHM_TRANSFER: '0',
  ...softefaEnvironment({ nics: 2, namespace: ownNamespace('cli-stats') }),
};

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

/** Starts `npx libfabric stats ...args`. */
function start(args: readonly string[], environment: NodeJS.ProcessEnv = env) {
  const child = spawn(process.execPath, [main, 'stats', ...args], { env: environment });
  running.add(child);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    child,
    async line(): Promise<string> {
      const { done, value } = await lines.next();
      if (done) throw new Error('stats has ended');
      return value;
    },
    async end(signal?: NodeJS.Signals) {
      const exited = once(child, 'exit');
      if (signal) child.kill(signal);
      return exited;
    },
  };
}

async function transfer(count: number, environment = env): Promise<OtherProcess[]> {
  const efa = () => OtherProcess.start({ provider: 'efa', env: environment });
  const [a, b] = await Promise.all([efa(), efa()]);
  await a.ask('connect', b.address);
  await b.ask('connect', a.address);
  for (let i = 0; i < count; i++) {
    const received = b.ask('recv', 1000);
    await a.ask('send', new Uint8Array(1000));
    await received;
  }
  return [a, b];
}

test('stats prints the counters of all devices or of one', () => {
  const { status, stdout } = libfabric(['stats'], env);
  expect(status).toBe(0);
  expect(stdout.match(/^softefa_\d port 1$/gm)).toEqual(['softefa_0 port 1', 'softefa_1 port 1']);
  expect(stdout).toMatch(/\n {2}tx_bytes +\d+\n/);
  const one = libfabric(['stats', '--device', 'softefa_1', '--json'], env);
  expect(JSON.parse(one.stdout)).toEqual([
    {
      device: 'softefa_1',
      port: 1,
      counters: {
        device: expect.objectContaining({ submitted_cmds: expect.stringMatching(/^\d+$/) }),
        port: expect.objectContaining({ rx_drops: '0' }),
      },
    },
  ]);
});

test('with keep, counters remain after the processes have ended, until the namespace is removed', async () => {
  const namespace = ownNamespace('kept');
  const kept = { ...env, ...softefaEnvironment({ namespace, keep: true }) };
  const pages = () => {
    const { stdout } = libfabric(['stats', '--device', 'softefa_0', '--json'], kept);
    return JSON.parse(stdout)[0].counters.port;
  };
  const [a, b] = await transfer(20, kept);
  await Promise.all([a!.close(), b!.close()]);
  const { tx_bytes, recv_wrs } = pages();
  // A program without softefa can also read them.
  const folder = `/dev/shm/softefa-${process.geteuid?.()}.${namespace}`;
  const outside = libfabric(['stats', '--device', 'softefa_0', '--json'], {
    ...process.env,
    SYSFS_PATH: `${folder}/node-0`,
  });
  expect(JSON.parse(outside.stdout)[0].counters.port).toMatchObject({ tx_bytes, recv_wrs });
  expect(Number(tx_bytes)).toBeGreaterThanOrEqual(20_000);
  expect(Number(recv_wrs)).toBeGreaterThanOrEqual(20);
  expect(libfabric(['softefa', '--remove'], kept)).toMatchObject({ status: 0, stderr: '' });
  expect(pages()).toMatchObject({ tx_bytes: '0', recv_wrs: '0' });
  expect(existsSync(folder)).toBe(true);
  libfabric(['softefa', '--remove'], kept);
  expect(existsSync(folder)).toBe(false);
});

test('a namespace in use is not removed', async () => {
  const [a, b] = await transfer(1);
  const { status, stderr } = libfabric(['softefa', '--remove'], env);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^2 processes use the namespace cli-stats-/);
  await transfer(1);
  await Promise.all([a!.close(), b!.close()]);
});

test('an unknown device is an error that names the known ones', () => {
  const { status, stderr } = libfabric(['stats', '-d', 'efa_7'], env);
  expect(status).toBe(1);
  expect(stderr).toBe('There is no device efa_7, but softefa_0, softefa_1.\n');
});

test.skipIf(hasRdmaDevice())('without a device, stats prints the reason', () => {
  const { status, stderr } = libfabric(['stats', '--watch']);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^This machine has no RDMA device/);
});

test.for([
  ['--interval', '0'],
  ['--interval', 'x'],
  ['--count', '0'],
  ['--listen', '9400'],
  ['--listen', '127.0.0.1:99999'],
])('%s %s is refused', async (args) => {
  const { status, stderr } = await call('stats', ...args);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^error: option .* is invalid/);
});

test('rates are printed as lines if standard output is not a terminal', () => {
  const { status, stdout } = libfabric(['stats', '-w', '-i', '0.05', '-c', '2'], env);
  expect(status).toBe(0);
  const [header, ...rows] = stdout.trimEnd().split('\n');
  expect(header).toMatch(/^time +device\/port +rx Gbit\/s +tx Gbit\/s .* drops\/s$/);
  expect(rows.map((row) => /^\S+Z {2}(\S+)( +[\d.]+){6}$/.exec(row)?.[1])).toEqual([
    'softefa_0/1',
    'softefa_1/1',
    'softefa_0/1',
    'softefa_1/1',
  ]);
});

test('--watch shows the transfers of other processes, and Ctrl-C ends it with status 0', async () => {
  const stats = start(['--watch', '--json', '--interval', '0.1', '--device', 'softefa_0']);
  await stats.line();
  const processes = await transfer(20);
  let received = 0n;
  while (received < 20_000n) {
    const { device, deltas, values, perSecond } = JSON.parse(await stats.line());
    expect(device).toBe('softefa_0');
    if (BigInt(deltas.rx_bytes) > 0n) expect(perSecond.rx_bytes).toBeGreaterThan(0);
    received = BigInt(values.rx_bytes);
  }
  expect(await stats.end('SIGINT')).toEqual([0, null]);
  await Promise.all(processes.map((process) => process.close()));
});

test('stats ends when its standard output is closed', async () => {
  const stats = start(['--watch', '--interval', '0.01']);
  await stats.line();
  stats.child.stdout.destroy();
  expect(await stats.end()).toEqual([0, null]);
});

test('--listen serves Prometheus metrics until a signal ends it', async () => {
  const stats = start(['--listen', '127.0.0.1:0']);
  const url = await stats.line();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
  const processes = await transfer(20);
  let text = '';
  const figure = (metric: string) => {
    const line = text.split('\n').find((entry) => entry.startsWith(`${metric} `));
    return Number(line?.split(' ')[1]);
  };
  const hasMoved = () =>
    figure('rdma_port_rx_bytes_total{device="softefa_0",port="1"}') >= 20_000 &&
    figure('rdma_device_submitted_cmds_total{device="softefa_0"}') > 0;
  do {
    const response = await fetch(url);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    text = await response.text();
  } while (!hasMoved());
  expect(figure('rdma_port_rx_bytes_total{device="softefa_1",port="1"}')).toBe(0);
  expect(figure('rdma_port_active{device="softefa_1",port="1"}')).toBe(1);
  expect(text).toMatch(/^rdma_device_info\{device="softefa_0",pci_address="0000:/m);
  expect((await fetch(new URL('/', url))).status).toBe(404);
  expect((await fetch(url, { method: 'POST' })).status).toBe(405);
  expect(await stats.end('SIGTERM')).toEqual([0, null]);
  await Promise.all(processes.map((process) => process.close()));
});

test('--listen answers while 300 others hold connections, and ends those that send no request', async () => {
  const stats = start(['--listen', '127.0.0.1:0']);
  const url = await stats.line();
  const port = Number(new URL(url).port);
  const others = await crowd(port);
  for (let i = 0; i < 100; i++) others.push(await stranger(port, Buffer.from('GET /metr')));
  for (let i = 0; i < 20; i++) expect((await fetch(url)).status).toBe(200);
  await Promise.all(others.map(closed));
  expect((await fetch(url)).status).toBe(200);
  expect(await stats.end('SIGTERM')).toEqual([0, null]);
});

test('an address in use is an error', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const { status, stderr } = libfabric(['stats', '--listen', `127.0.0.1:${port}`], env);
  server.close();
  expect(status).toBe(1);
  expect(stderr).toMatch(/EADDRINUSE/);
});

test.skipIf(hasRdmaDevice())("--watch shows another vendor's device", async () => {
  const fake = new FakeSysfs();
  addConnectX(fake);
  const stats = start(['-w', '-i', '0.2'], { ...process.env, SYSFS_PATH: fake.root });
  try {
    await stats.line();
    const words = 'class/infiniband/mlx5_0/ports/1/counters/port_rcv_data';
    let row = '';
    for (let total = 1000; !/ [1-9]\d*\.\d{3} /.test(row); row = await stats.line()) {
      total += 1_000_000_000; // four bytes each
      fake.put({ [words]: total });
    }
    expect(row).toMatch(/mlx5_0\/1 /);
    expect(await stats.end('SIGINT')).toEqual([0, null]);
  } finally {
    fake.remove();
  }
});
