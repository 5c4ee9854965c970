// A functional test with a misbehaving peer must report the error, and must not hang.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { open } from 'libfabric';
import { expect, onTestFinished, test } from 'vitest';
import { call } from '../../../support/call.js';
import { slow } from '../../../support/cases.js';
import { start } from '../../../support/command.js';
import { freePort } from '../../../support/free-port.js';
import { sides } from '../../../support/sides.js';

const ADDRESS = 256;

/** Reads exactly `length` bytes from a socket. */
async function read(socket: Socket, length: number): Promise<Buffer> {
  for (;;) {
    const bytes = socket.read(length) as Buffer | null;
    if (bytes !== null) return bytes;
    await once(socket, 'readable');
  }
}

async function connected(port: number): Promise<Socket> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return socket;
    } catch {
      await new Promise(setImmediate); // the server is starting
    }
  }
}

/** A scripted client: opens an endpoint over tcp and exchanges addresses with the server of a test. */
async function client(port: number, caps: ('FI_MSG' | 'FI_TAGGED')[]) {
  const socket = await connected(port);
  onTestFinished(() => {
    socket.destroy();
  });
  const ep = await open({ provider: 'tcp', caps, node: '127.0.0.1' });
  onTestFinished(() => ep.close());
  const own = Buffer.alloc(ADDRESS);
  own.set(ep.address);
  socket.write(own);
  const serverAddress = await read(socket, ADDRESS);
  const peer = ep.av.insert(serverAddress.subarray(0, ep.address.length));
  return { ep, peer, socket };
}

/** Starts the server of a test. Returns its out-of-band port and its end. */
async function server(command: string, ...args: string[]) {
  const port = await freePort();
  const release = ['--fabtests', '1.17'];
  const common = [command, '-p', 'tcp', '-s', '127.0.0.1', '-B', String(await freePort())];
  const { ended } = start([...common, `-E=${port}`, '--timeout', '2', ...release, ...args]);
  return { port, ended };
}

test('a wrong first message is reported', async () => {
  const { port, ended } = await server('rdm');
  const { ep, peer } = await client(port, ['FI_MSG']);
  await ep.send(Buffer.from('Hello from Martian\0'), peer);
  const { code, stdout, stderr } = await ended;
  expect(stderr).toBe(
    "rdm: failed: expected the greeting 'Hello from Client!' (19 bytes); found 19 bytes, 'Hello from Martian.'. " +
      'Check what the peer runs; otherwise check the provider: it delivers other bytes than were sent.\n',
  );
  expect(stdout).not.toContain('passed');
  expect(code).toBe(5); // FI_EIO
});

test('--json has the expected and the found value, and advice', async () => {
  const { port, ended } = await server('rdm', '--json');
  const { ep, peer } = await client(port, ['FI_MSG']);
  await ep.send(Buffer.from('Hello\0'), peer);
  const { stdout } = await ended;
  expect(JSON.parse(stdout)).toMatchObject({
    name: 'rdm',
    role: 'server',
    passed: false,
    offered: true,
    expected: "the greeting 'Hello from Client!' (19 bytes)",
    found: "6 bytes, 'Hello.'",
    lookAt: expect.stringContaining('what the peer runs'),
    provider: 'tcp;ofi_rxm',
    errno: 5,
  });
});

test('wrong remote CQ data is reported', async () => {
  const { port, ended } = await server('cq-data');
  const { ep, peer } = await client(port, ['FI_MSG']);
  await ep.senddata(new Uint8Array(1000), 42n, peer);
  const { code, stderr } = await ended;
  expect(stderr).toContain('expected the data 0x123456789abcdef; found 0x2a. Check domainAttr');
  expect(code).toBe(5);
});

if (slow)
  test('missing remote CQ data is reported', async () => {
    const { port, ended } = await server('cq-data');
    const { ep, peer } = await client(port, ['FI_MSG']);
    await ep.send(new Uint8Array(1000), peer);
    const { code, stderr } = await ended;
    expect(stderr).toContain('found a completion without FI_REMOTE_CQ_DATA');
    expect(code).toBe(1); // FI_EBADFLAGS does not fit in an exit status
  });

if (slow)
  test('a wrong tag is reported after --timeout', async () => {
    const { port, ended } = await server('inject', '-S', '8');
    const { ep, peer } = await client(port, ['FI_TAGGED']);
    await ep.tsend(new Uint8Array(8), peer, 0xabce);
    const { code, stderr } = await ended;
    expect(stderr).toContain(
      'inject: failed: expected a message with tag 0xabcd; found that the peer has not answered for 2 s. Check',
    );
    expect(code).toBe(110); // ETIMEDOUT
  });

if (slow)
  test('a wrong length is reported', async () => {
    const { port, ended } = await server('inject', '-S', '8');
    const { ep, peer } = await client(port, ['FI_TAGGED']);
    await ep.tsend(new Uint8Array(7), peer, 0xabcd);
    const { code, stderr } = await ended;
    expect(stderr).toContain('expected 8 bytes in a message with tag 0xabcd; found 7. Check');
    expect(code).toBe(5);
  });

test('-v reports the first wrong byte', async () => {
  const { port, ended } = await server('inject', '-S', '8', '-v');
  const { ep, peer } = await client(port, ['FI_TAGGED']);
  await ep.tsend(Buffer.from('01234x67'), peer, 0xabcd);
  const { code, stderr } = await ended;
  expect(stderr).toContain('found Data check error (5!=x) at byte 5 for buffer size 8. Check');
  expect(code).toBe(5);
});

if (slow)
  test('a disconnected peer is reported with the event that was awaited', async () => {
    const { port, ended } = await server('recv-cancel');
    const { socket } = await client(port, ['FI_TAGGED']);
    socket.end();
    const { code, stderr } = await ended;
    expect(stderr).toMatch(
      /recv-cancel: failed: expected the (message with tag 0xa|completion of the go-ahead); found that the peer has closed the connection\. /,
    );
    expect(code).toBe(110);
  });

test('both sides report different -S', async () => {
  const port = await freePort();
  const common = ['unexpected-msg', '-p', 'tcp', `-b=${port}`, '-I', '2', '--timeout', '2'];
  const a = start([...common, '-S', '100']);
  const b = start([...common, '-S', '200', '127.0.0.1']);
  const [one, other] = await Promise.all([a.ended, b.ended]);
  expect([one.code, other.code]).not.toContain(0);
  expect(one.stderr + other.stderr).toMatch(
    /expected \d+ bytes with tag|expected the message with tag/,
  );
});

if (slow)
  test('a wrong result of an atomic operation is reported', async () => {
    const port = await freePort();
    const args = ['rdm-atomic', '-p', 'tcp', `-E=${port}`, '-o', 'sum', '-z', 'int32', '-v'];
    const a = start([...args, '-I', '3', '--timeout', '2']);
    const b = start([...args, '-I', '4', '--timeout', '2', '127.0.0.1']);
    const [one, other] = await Promise.all([a.ended, b.ended]);
    expect([one.code, other.code]).not.toContain(0);
    // The value starts at 5, and the peer adds 3 in each of its iterations.
    expect(one.stderr + other.stderr).toMatch(
      /expected (14 .*, 3 times; found 17|17 .*, 4 times; found 14)\. Check whether both sides have the same -I/,
    );
  });

if (slow)
  test('a client without a server fails', async () => {
    const port = await freePort();
    const { ended } = start(['rdm', '-p', 'tcp', `-E=${port}`, '--timeout', '1', '127.0.0.1']);
    const { code, stderr } = await ended;
    expect(stderr).toContain(`no server at 127.0.0.1, port ${port}`);
    expect(code).not.toBe(0);
  });

test('a silent server is reported with the event that was awaited', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  onTestFinished(() => {
    silent.close();
  });
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  const { ended } = start(['rdm', '-p', 'tcp', `-E=${port}`, '--timeout', '1', '127.0.0.1']);
  const { code, stderr } = await ended;
  expect(stderr).toContain('expected an exchange of addresses; found that the peer has not');
  expect(code).toBe(110);
});

test('an operation that the provider does not offer is refused with the reason', async () => {
  const { server: one, client: other } = await sides('rdm-atomic', [
    '-p',
    'udp',
    '-e',
    'rdm',
    '-o',
    'mswap',
    '-z',
    'float',
    '-I',
    '1',
  ]);
  for (const { stderr } of [one, other]) {
    expect(stderr).toContain(
      "Provider doesn't support FI_MSWAP compare atomic operation on FI_FLOAT",
    );
    expect(stderr).toContain('rdm-atomic: not offered: the provider has none of these operations');
  }
  expect([one.code, other.code]).toEqual([95, 95]); // EOPNOTSUPP
});

test.each([
  [['rdm', '-e', 'dgram'], '-e must be rdm with rdm, not dgram'],
  [['rdm', '-e', 'msg'], 'connected endpoints (FI_EP_MSG) are not offered'],
  [['rdm-atomic', '-o', 'add'], 'Allowed choices are all, min, max'],
  [['multi-ep', '-c', '0'], 'It must be a whole number from 1 to 1024'],
  [['inject', '-D', 'cuda'], '-D: the CPU copies what is injected'],
  [['multi-recv', '-H'], '-H: this package gives the messages of a multi-receive buffer as bytes'],
  [['rdm', '-v'], "unknown option '-v'"],
])('%j is refused with the reason', async (args, reason) => {
  const { status, stderr } = await call(...args);
  expect(stderr).toContain(reason);
  expect(status).toBe(1);
});

test('a server that waits for its client ends with Ctrl-C', async () => {
  const port = await freePort();
  const { child, ended } = start(['rdm', '-p', 'tcp', `-E=${port}`]);
  const socket = await connected(port); // it is listening, and takes the first connection for the client
  child.kill('SIGINT');
  const { code, stderr } = await ended;
  socket.destroy();
  expect(stderr).toBe('');
  expect(code).toBe(130);
});
