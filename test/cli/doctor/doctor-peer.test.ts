// npx libfabric doctor --peer and --listen distinguish the causes of a failed connection between two hosts.
// This process is host 1, and the listener is host 0.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import {
  type FaultKind,
  type FaultOptions,
  loadSoftefa,
  SoftefaFaults,
  type SoftefaOptions,
  softefaEnvironment,
} from 'libfabric/softefa';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Diagnosis, Finding } from '../../../dist/cli/doctor/diagnosis.js';
import { ReachError } from '../../../dist/cli/doctor/peer/connection.js';
import { fabricFinding, tcpFinding } from '../../../dist/cli/doctor/peer/findings.js';
import { probe } from '../../../dist/cli/doctor/peer/probe.js';
import { frameOf, JsonLink } from '../../../dist/cli/shared/json-link.js';
import { type Ended, main, run, type Started, start } from '../../support/command.js';
import { hasRdmaDevice } from '../../support/fake-sysfs.js';
import { freePort } from '../../support/free-port.js';
import { HANG_MS } from '../../support/limits.js';
import { ownNamespace } from '../../support/own-namespace.js';
import { preloading } from '../../support/preload.js';
import { crowd, GARBAGE, stranger } from '../../support/strangers.js';

const namespace = ownNamespace('doctor-peer');
const DEVICE_TIMEOUT = 1000; // ms until a device times out on a silent peer
const OWN = 'softefa_0-rdm';
const device = { namespace, memlock: 'unlimited', timeout: DEVICE_TIMEOUT } as const;

process.env.FI_EFA_ENABLE_SHM_TRANSFER = '0';
loadSoftefa({ ...device, node: 1, nics: 2 });

const host = (node: number, more: SoftefaOptions = {}) =>
  softefaEnvironment({ ...device, node, nics: 1, ...more });

const faults = new SoftefaFaults({ namespace });
let listener: Started & { readonly port: number };

beforeAll(async () => {
  listener = await listening(host(0));
});
afterEach(() => faults.clear());
afterAll(() => {
  listener.child.kill('SIGKILL');
  faults.close();
});

/** Starts a listener. */
async function listening(env: Record<string, string>) {
  const side = start(['doctor', '--listen', '127.0.0.1', '--port', '0'], env);
  let output = '';
  const port = await new Promise<number>((resolve, reject) => {
    side.child.stdout?.on('data', (text) => {
      output += text;
      const [, number] = /--port (\d+)\n/.exec(output) ?? [];
      if (number !== undefined) resolve(Number(number));
    });
    side.ended.then(({ stderr }) => reject(new Error(stderr)));
  });
  return { ...side, port };
}

/** Probes the listener. Returns the findings. */
async function findings(timeout = 10_000, port = listener.port, domains = [OWN]) {
  const attempts = await probe({ host: '127.0.0.1', port, timeout }, domains);
  return attempts.map(fabricFinding);
}

/** Probes a port of this host that fails before the fabric is used. Returns the finding. */
async function tcpOf(port: number, name = '127.0.0.1'): Promise<Finding> {
  const target = { host: name, port, timeout: 1000 };
  const failure = await probe(target, [OWN]).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ReachError);
  return tcpFinding(target, failure as ReachError);
}

const inReport = ({ stdout }: Pick<Ended, 'stdout'>, id: string) =>
  (JSON.parse(stdout) as Diagnosis).findings.filter((finding) => finding.id === id);

describe('over the fabric', () => {
  test('messages are exchanged in both directions between all NICs of both hosts', async () => {
    const threeNics = await listening(host(5, { nics: 3 }));
    onTestFinished(() => void threeNics.child.kill('SIGKILL'));
    const found = await findings(10_000, threeNics.port, [OWN, 'softefa_1-rdm']);
    expect(found.map(({ title, status }) => [title, status])).toEqual([
      ['softefa_0-rdm to softefa_0-rdm', 'ok'],
      ['softefa_1-rdm to softefa_1-rdm', 'ok'],
      ['softefa_0-rdm to softefa_2-rdm', 'ok'],
    ]);
  });

  test('two doctors can probe at the same time', async () => {
    const both = await Promise.all([findings(), findings()]);
    expect(both.flat().map(({ status }) => status)).toEqual(['ok', 'ok']);
  });

  const TO_PEER = /^from here to the other host: /;
  const FROM_PEER = /^from the other host to here: /;
  const RULES = /0\.0\.0\.0\/0 does not match[\s\S]*-egress --group-id[\s\S]*UserIdGroupPairs/;
  const FINE = /security group is fine/;
  const status = (node: number, value: number): FaultOptions => ({ node, value });
  const cases: [string, FaultKind, FaultOptions, direction: RegExp, found: RegExp, fix: RegExp][] =
    [
      ['unreachable', 'status', status(0, 15), TO_PEER, /dropped: nothing .*status 15/, RULES],
      ['unreachable on the way back', 'status', status(1, 15), FROM_PEER, /status 15/, RULES],
      ['unresponsive', 'status', status(0, 13), TO_PEER, /dropped: .*status (13|4126)/, RULES],
      ['a silent host', 'freeze', { node: 0 }, TO_PEER, /dropped: .*status (13|4126)/, RULES],
      ['a killed process', 'kill', { node: 0 }, TO_PEER, /dropped: .*status (13|4126)/, RULES],
      ['no such endpoint', 'status', status(0, 9), TO_PEER, /refused: .*status 9/, FINE],
      ['no address handle', 'status', status(0, 4), TO_PEER, /no route: /, /availability zone/],
      ['another status', 'status', status(0, 8), TO_PEER, /failed .*status 8/, /FI_LOG_LEVEL/],
    ];

  test.each(cases)('%s', async (_, kind, options, direction, found, fix) => {
    faults.add(kind, options);
    const [finding] = await findings();
    expect(finding).toMatchObject({ id: 'peer.fabric', status: 'error' });
    expect(finding?.found).toMatch(direction);
    expect(finding?.found).toMatch(found);
    expect(finding?.fix).toMatch(fix);
  });

  test('a timeout is distinguished from an error of the device', async () => {
    faults.add('freeze', { node: 0 });
    const [finding] = await findings(DEVICE_TIMEOUT / 4);
    expect(finding?.found).toMatch(/^from here .*dropped: .*no completion in time/);
  });

  test('a probe succeeds after a failed one', async () => {
    const fault = faults.add('status', { node: 0, value: 15 });
    expect((await findings())[0]?.status).toBe('error');
    fault.remove();
    expect((await findings())[0]?.status).toBe('ok');
  });
});

describe('over TCP', () => {
  test('refused: nothing listens', async () => {
    const finding = await tcpOf(await freePort());
    expect(finding).toMatchObject({ id: 'peer.tcp', status: 'error' });
    expect(finding.found).toMatch(/^refused: /);
    expect(finding.fix).toMatch(/doctor --listen --port \d+$/);
  });

  test('dropped: nothing answers', async () => {
    // A stopped process with a full backlog of connections.
    const program = `require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 },
      function () { process.send(this.address().port); })`;
    const stdio = ['ignore', 'ignore', 'ignore', 'ipc'] as const;
    const child = spawn(process.execPath, ['-e', program], { stdio: [...stdio] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [port] = (await once(child, 'message')) as [number];
    child.kill('SIGSTOP');
    for (let i = 0; i < 2; i++) {
      const socket = connect(port, '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
    }
    const finding = await tcpOf(port);
    expect(finding.found).toMatch(/^dropped: .*no answer within 1 s/);
    expect(finding.fix).toMatch(/authorize-security-group-ingress .* --protocol tcp/);
  });

  test('no route: the network is unreachable', (context) => {
    const isolated = ['-rn', process.execPath];
    context.skip(
      run('unshare', [...isolated, '-e', '0']).status !== 0,
      'no permission to create namespaces',
    );
    const args = [main, 'doctor', '--json', '--peer', '127.0.0.1'];
    const [finding] = inReport(
      run('unshare', [...isolated, ...args], { ...process.env, ...host(1) }),
      'peer.tcp',
    );
    expect(finding?.found).toMatch(/^no route: /);
    expect(finding?.fix).toMatch(/route tables/);
  });

  test('unknown host: the name has no address', async () => {
    expect((await tcpOf(1, 'no-such-host.invalid')).found).toMatch(/^unknown host: /);
  });

  test.each([
    ['speaks another protocol', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['has another protocol version', '\0\0\0\x1f{"kind":"hello","protocol":1000}'],
    ['sends nothing', ''],
  ])('a listener that %s is reported as not the doctor', async (_, firstBytes) => {
    const server = createServer((socket) => socket.on('error', () => {}).write(firstBytes));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const finding = await tcpOf((server.address() as { port: number }).port);
    expect(finding.found).toMatch(/^the process that listens there is not the doctor/);
  });
});

test('text from the peer is printed without control characters', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write(frameOf({ kind: 'hello', protocol: 1, domains: [7] }));
    const address = Buffer.alloc(32).toString('base64');
    socket.write(frameOf({ kind: 'ready', domain: '\u001b[2J', address }));
    const answer = { kind: 'no such kind', message: '\u001b[31m', provErrno: 'x' };
    socket.write(frameOf({ kind: 'received', arrived: true, answer }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const [finding] = await findings(2000, (server.address() as { port: number }).port);
  expect(finding?.status).toBe('error');
  expect(`${finding?.title}${finding?.found}`).not.toMatch(/\p{Cc}/u);
});

describe('unknown clients', () => {
  /** Connects, and requests an endpoint for the longest time allowed. */
  async function requestEndpoint(port: number) {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const link = new JsonLink<{ kind: string }, object>(socket, { maxBytes: () => 1 << 20 });
    const address = Buffer.alloc(32).toString('base64');
    link.send({ kind: 'hello', protocol: 1, domains: [OWN] });
    link.send({ kind: 'try', nic: 0, address, seconds: 300 });
    link.send({ kind: 'sent', delivery: { kind: 'delivered' } });
    let last = await link.receive();
    while (last?.kind === 'hello') last = await link.receive();
    if (last === undefined) throw link.ended;
    return { socket, last };
  }

  const threadsOf = ({ child }: Started) => readdirSync(`/proc/${child.pid}/task`).length;

  test('the endpoint of a client that disconnects is closed', async () => {
    const own = await listening(host(2));
    onTestFinished(() => void own.child.kill('SIGKILL'));
    const before = threadsOf(own);
    for (let i = 0; i < 12; i++) (await requestEndpoint(own.port)).socket.destroy();
    await expect.poll(() => threadsOf(own), { timeout: HANG_MS }).toBeLessThan(before + 8);
    expect((await findings(10_000, own.port))[0]?.status).toBe('ok');
  });

  test('clients that request nothing do not keep others from being answered', async () => {
    const own = await listening(host(2));
    onTestFinished(() => void own.child.kill('SIGKILL'));
    for (let i = 0; i < 10; i++) {
      await stranger(own.port, frameOf({ kind: 'hello', protocol: 1, domains: [OWN] }));
    }
    for (const bytes of Object.values(GARBAGE)) await stranger(own.port, bytes);
    await crowd(own.port);
    expect((await findings(10_000, own.port))[0]?.status).toBe('ok');
  });

  test('at most eight are served at the same time, and the listener ends on SIGTERM', async () => {
    const own = await listening(host(2));
    onTestFinished(() => void own.child.kill('SIGKILL'));
    const all = await Promise.all(Array.from({ length: 10 }, () => requestEndpoint(own.port)));
    const refused = all.map(({ last }) => last).filter(({ kind }) => kind === 'failed');
    expect(refused).toEqual(
      Array(2).fill({ kind: 'failed', message: expect.stringMatching(/^8 /) }),
    );
    own.child.kill('SIGTERM');
    expect(await own.ended).toMatchObject({ code: 0, stderr: '' });
  });

  test.each([
    ['unexpected messages', () => frames(1_000_000, { kind: 'hello' })],
    ['an endless message', () => Buffer.from('\x7f\xff\xff\xff{"kind": "')],
  ])('a client that sends %s is disconnected', async (_, bytes) => {
    const socket = connect(listener.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {}).resume();
    const closed = new Promise((resolve) => socket.on('close', resolve)); // or reset earlier
    socket.write(bytes());
    await closed;
    expect((await findings())[0]?.status).toBe('ok');
  });

  function frames(count: number, message: object): Buffer {
    const text = Buffer.from(JSON.stringify(message));
    const head = Buffer.alloc(4);
    head.writeUInt32BE(text.length);
    return Buffer.alloc(count * (head.length + text.length), Buffer.concat([head, text]));
  }
});

describe('as commands', () => {
  const doctor = (env: Record<string, string>) =>
    start(['doctor', '--json', '--peer', '127.0.0.1', '--port', `${listener.port}`], env).ended;

  test('both report success, and the listener runs until SIGTERM', async () => {
    const own = await listening(host(2));
    onTestFinished(() => void own.child.kill('SIGKILL'));
    const args = ['doctor', '--json', '--peer', '127.0.0.1', '--port', `${own.port}`];
    const ended = await start(args, host(3)).ended;
    expect(inReport(ended, 'peer.tcp')).toMatchObject([{ status: 'ok' }]);
    expect(inReport(ended, 'peer.fabric')).toMatchObject([{ status: 'ok' }]);
    own.child.kill('SIGTERM');
    const { code, stdout, stderr } = await own.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /\n127\.0\.0\.1: softefa_0-rdm: a message arrived; answer: delivered\n$/,
    );
  });

  test('the exit status is 2 if the fabric is blocked', async () => {
    faults.add('status', { node: 0, value: 15 });
    const ended = await doctor(host(1));
    expect(inReport(ended, 'peer.fabric')[0]?.found).toMatch(/status 15/);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      efa: 'usable',
      peer: { host: '127.0.0.1', reached: false },
    });
    expect(ended.code).toBe(2);
  });

  test('a probe within one device reports that it tested no network', async () => {
    const [finding] = inReport(await doctor(host(0)), 'peer.fabric');
    expect(finding).toMatchObject({ status: 'note' });
    expect(finding?.found).toMatch(/no network and no security group/);
  });
});

describe.skipIf(hasRdmaDevice())('without an EFA', () => {
  const bare = { ...preloading(''), SYSFS_PATH: '', SOFTEFA_NODE: '' };

  test('--peer fails because the probe tests EFA only', async () => {
    const ended = await start(['doctor', '--json', '--peer', '127.0.0.1'], bare).ended;
    const [finding] = inReport(ended, 'peer.fabric');
    expect(finding).toMatchObject({ status: 'error', why: expect.stringMatching(/nothing else/) });
    expect(ended.code).toBe(2);
  });

  test('--listen does not start', async () => {
    const { code, stderr } = await start(['doctor', '--listen', '--port', '0'], bare).ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/no EFA .* the probe tests EFA only/);
  });
});
