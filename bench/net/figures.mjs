// The figures of bench/net.mjs. Each makes its contenders: functions that do `count` operations and return the
// milliseconds. The first is libfabric/net.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { TransferEngine } from 'libfabric/transfer';
import { engineOptions } from './engine.mjs';
import { nodeNet, overFabric } from './side.mjs';

const since = (start) => performance.now() - start;

/** Sends 64 bytes and waits for them. */
async function pingpong(contender, servers, count) {
  const socket = await contender.connect(servers, 'echo');
  const bytes = Buffer.alloc(64);
  return () => {
    const start = performance.now();
    let left = count;
    return new Promise((resolve) => {
      const next = () => {
        if (left-- > 0) return socket.write(bytes);
        socket.off('data', next);
        resolve(since(start));
      };
      socket.on('data', next);
      next();
    });
  };
}

/** Writes pieces until the peer has `total` bytes. */
async function stream(contender, servers, piece, total, kind = 'sink') {
  return writes(await connected(contender, servers, kind, total), piece, total);
}

function writes(socket, piece, total) {
  const bytes = Buffer.alloc(piece, 1);
  return async () => {
    const start = performance.now();
    const answer = once(socket, 'data');
    for (let sent = 0; sent < total; sent += piece) {
      if (!socket.write(bytes)) await once(socket, 'drain');
    }
    await answer;
    return since(start);
  };
}

/** The same in a session that has `idle` other sockets meanwhile. */
async function streamBesideIdle(contender, servers, idle, piece, total) {
  const { port } = await contender.listen(servers, 'sink', { window: total });
  const run = writes(await contender.connectTo(port), piece, total);
  servers.repin();
  return async () => {
    const others = [];
    while (others.length < idle) others.push(await contender.connectTo(port));
    const ms = await run();
    for (const other of others) other.destroy();
    await Promise.all(others.map((other) => once(other, 'close')));
    return ms;
  };
}

async function connected(contender, servers, kind, window) {
  if (kind === 'sink') return contender.connect(servers, kind, { window });
  const plain = await contender.connect(servers, kind, { window, ...certificate() });
  const socket = connectTls({ socket: plain, rejectUnauthorized: false });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

let made;
function certificate() {
  if (made) return made;
  const folder = mkdtempSync(join(tmpdir(), 'bench-net-'));
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
  const args =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost';
  execFileSync('openssl', [...args.split(' '), '-keyout', key, '-out', cert], { stdio: 'ignore' });
  made = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
  return made;
}

/** Sends messages until the peer has `count`. */
async function messages(contender, servers, size, count) {
  const socket = await contender.connect(
    servers,
    'messages',
    { window: count },
    { mode: 'messages' },
  );
  const message = Buffer.alloc(size, 1);
  return async () => {
    const start = performance.now();
    for (let i = 0; i < count; i++) {
      const sent = socket.send(message);
      if (i % 256 === 255) await sent;
    }
    await socket.receive();
    return since(start);
  };
}

async function zeromq(servers, size, count) {
  const { Push } = await import('zeromq');
  const push = new Push();
  push.connect(await servers.ask('pull', { window: count }));
  const message = Buffer.alloc(size, 1);
  return async () => {
    const start = performance.now();
    const done = servers.ask('pulled');
    for (let i = 0; i < count; i++) await push.send(message);
    await done;
    return since(start);
  };
}

/** GETs, one after the other, over connections that stay open. */
async function http(contender, servers, size, count) {
  const { port } = await contender.listen(servers, 'http', { size });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = () =>
    contender.library.connect({ port, host: '127.0.0.1', ...contender.options });
  const get = () =>
    new Promise((resolve, reject) => {
      request({ agent, host: '127.0.0.1', port }, (response) => {
        response.on('end', resolve).resume();
      })
        .on('error', reject)
        .end();
    });
  return async () => {
    const start = performance.now();
    for (let i = 0; i < count; i++) await get();
    return since(start);
  };
}

/** Requests of HTTP/2, `at once` of them in flight. */
async function http2(contender, servers, atOnce, count) {
  const { port } = await contender.listen(servers, 'http2', { size: 1024 });
  const socket = contender.library.connect({ port, host: '127.0.0.1', ...contender.options });
  const client = connectHttp2('http://127.0.0.1', { createConnection: () => socket });
  client.on('error', () => {});
  const get = () =>
    new Promise((resolve, reject) => {
      client.request().on('end', resolve).on('error', reject).resume();
    });
  return async () => {
    const start = performance.now();
    let left = count;
    const worker = async () => {
      while (left-- > 0) await get();
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    return since(start);
  };
}

/** Sends memory that the peer reads. */
async function memory(contender, servers, size, count) {
  const engine = await TransferEngine.open(engineOptions(contender.options));
  const from = await engine.allocate(size);
  const socket = await contender.connect(servers, 'memory', { size }, { mode: 'messages', engine });
  return async () => {
    const start = performance.now();
    for (let i = 0; i < count; i++) await socket.sendFrom(from);
    return since(start);
  };
}

/** The same by the transfer engine: a write to an offer that repeats. */
async function transfer(contender, servers, size, count) {
  const engine = await TransferEngine.open(engineOptions(contender.options));
  const from = await engine.allocate(size);
  const { address, token } = await servers.ask('offer', {
    options: engineOptions(contender.options),
    size,
    address: engine.address,
  });
  const remote = await engine.peer(address);
  servers.repin();
  return async () => {
    const start = performance.now();
    for (let i = 0; i < count; i++) await remote.write(from, token);
    return since(start);
  };
}

/** The CPU time of both sides for `total` bytes of a stream, in milliseconds. */
async function cpu(contender, servers, total) {
  const run = await stream(contender, servers, 65_536, total);
  const used = ({ user, system }) => (user + system) / 1000;
  return async () => {
    const [before, theirs] = [process.cpuUsage(), await servers.ask('cpu')];
    await run();
    return used(process.cpuUsage(before)) + used(await servers.ask('cpu')) - used(theirs);
  };
}

const MiB = 2 ** 20;

/**
 * `bars` are of the ratio to the first other contender: `less` of the time, otherwise of the rate. `quick` is the number
 * of operations with --quick.
 */
export const figuresOf = (provider) => {
  const loop = overFabric(provider, 'loop');
  const thread = overFabric(provider, 'thread');
  const both = (make, other = make) => ({
    contenders: {
      [loop.name]: (...a) => make(loop, ...a),
      [thread.name]: (...a) => make(thread, ...a),
    },
    other: { 'node:net': (...a) => other(nodeNet, ...a) },
  });
  return [
    {
      name: 'half round trip of 64 B',
      bars: { shm: [0.35, 0.75], efa: [0.6, 1] },
      less: true,
      count: 10_000,
      ...both((c, s, n) => pingpong(c, s, n)),
      us: 2,
    },
    {
      name: '64 KiB writes',
      bars: { shm: [2, 2], efa: [1.5, 1.5] },
      count: 8192,
      bytes: 65_536,
      ...both((c, s, n) => stream(c, s, 65_536, 65_536 * n)),
    },
    {
      name: '64 KiB writes beside 1,000 idle sockets',
      bars: { shm: [0.9], efa: [0.9] },
      count: 8192,
      bytes: 65_536,
      contenders: {
        [thread.name]: (s, n) => streamBesideIdle(thread, s, 1000, 65_536, 65_536 * n),
      },
      other: { alone: (s, n) => streamBesideIdle(thread, s, 0, 65_536, 65_536 * n) },
    },
    {
      name: '64 KiB messages',
      bars: { shm: [4, 4], efa: [2, 2] },
      count: 8192,
      bytes: 65_536,
      ...both(
        (c, s, n) => messages(c, s, 65_536, n),
        (c, s, n) => stream(c, s, 65_536, 65_536 * n),
      ),
    },
    {
      name: '64 B messages',
      bars: { shm: [5, 5], efa: [3, 3] },
      count: 300_000,
      ...both(
        (c, s, n) => messages(c, s, 64, n),
        (c, s, n) => stream(c, s, 64, 64 * n),
      ),
    },
    {
      name: '64 B messages, of zeromq',
      bars: { shm: [2, 2], efa: [1.5, 1.5] },
      count: 300_000,
      ...both((c, s, n) => messages(c, s, 64, n)),
      other: { zeromq: (s, n) => zeromq(s, 64, n) },
    },
    {
      name: '64 KiB messages, of zeromq',
      bars: { shm: [2, 2], efa: [1.5, 1.5] },
      count: 8192,
      bytes: 65_536,
      ...both((c, s, n) => messages(c, s, 65_536, n)),
      other: { zeromq: (s, n) => zeromq(s, 65_536, n) },
    },
    {
      name: 'sendFrom() of 16 MiB',
      bars: { shm: [0.95], efa: [0.95] },
      count: 20,
      bytes: 16 * MiB,
      contenders: { [thread.name]: (s, n) => memory(thread, s, 16 * MiB, n) },
      other: { write: (s, n) => transfer(thread, s, 16 * MiB, n) },
    },
    {
      name: 'HTTP/1.1, GET of 1 KiB',
      bars: { shm: [1, 1], efa: [0.9, 0.9] },
      count: 3000,
      ...both((c, s, n) => http(c, s, 1024, n)),
    },
    {
      name: 'HTTP/1.1, GET of 1 MiB',
      bars: { shm: [2, 2], efa: [1.5, 1.5] },
      count: 200,
      bytes: MiB,
      ...both((c, s, n) => http(c, s, MiB, n)),
    },
    {
      name: 'HTTP/2, one at a time',
      bars: { shm: [1, 1], efa: [0.9, 0.9] },
      count: 3000,
      ...both((c, s, n) => http2(c, s, 1, n)),
    },
    {
      name: 'HTTP/2, 32 at once',
      bars: { shm: [0.7, 0.7], efa: [0.6, 0.6] },
      count: 6000,
      ...both((c, s, n) => http2(c, s, 32, n)),
    },
    {
      name: 'TLS, 64 KiB writes',
      bars: { shm: [1, 1], efa: [0.9, 0.9] },
      count: 3000,
      bytes: 65_536,
      ...both((c, s, n) => stream(c, s, 65_536, 65_536 * n, 'tls')),
    },
    {
      name: 'CPU of a stream, both sides',
      bars: { shm: [0.6, 0.6], efa: [1, 1] },
      less: true,
      count: 8192,
      ...both((c, s, n) => cpu(c, s, 65_536 * n)),
    },
  ];
};
