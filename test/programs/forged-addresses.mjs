// node forged-addresses.mjs PROVIDER TYPE SEED COUNT: inserts addresses that are nearly right, sends to one in ten,
// and closes. Prints the number of each outcome, and the messages that arrived. If an address crashes a provider,
// this process ends and not the test.
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { FabricError, open } from 'libfabric';

const [provider, type, seed, count] = process.argv.slice(2);
let state = Number(seed) >>> 0;
const next = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};

const node = provider === 'tcp' || provider === 'udp' ? { node: '127.0.0.1' } : {};
const opened = () => open({ provider, type, driver: 'manual', caps: ['FI_MSG'], ...node });
const text = (name) => new TextEncoder().encode(`${name}\0`);

const tally = {};
const record = (what) => {
  tally[what] = (tally[what] ?? 0) + 1;
};
const settled = (call) => (error) => {
  if (!FabricError.is(error) && !/^ERR_/.test(error.code)) throw error;
  record(`${call} ${error.code}`);
};

const paths = [];
process.on('exit', () => {
  for (const path of paths) rmSync(path, { recursive: true });
});

/** shm names of files that are not regions, are truncated, or belong to another process. */
function namesOfFiles(own) {
  const region = Buffer.from(own)
    .toString()
    .replace(/^.*:\/\/|\0.*$/g, '');
  const header = readFileSync(`/dev/shm/${region}`).subarray(0, 256);
  const { length } = readFileSync(`/dev/shm/${region}`);
  const made = (name, make) => {
    const path = `/dev/shm/forged-${process.pid}-${name}`;
    paths.push(path);
    make(path);
    return basename(path);
  };
  const file = (name, size, content = Buffer.alloc(0)) =>
    made(name, (path) => {
      writeFileSync(path, content, { mode: 0o600 });
      truncateSync(path, size);
    });
  const names = [
    made('folder', mkdirSync),
    made('link', (path) => symlinkSync(`/dev/shm/${region}`, path)),
    file('empty', 0),
    file('zeros', length),
    file('ones', length, Buffer.alloc(256, 255)),
    ...[64, 100, 125, 256, 4096, length / 2].map((size) => file(size, size, header)),
    ...[3, 5, 8, 11].map((version) => {
      const other = Buffer.from(header);
      other[0] ^= version;
      return file(`version-${version}`, length, other);
    }),
    ...['', '/', '.', '..', 'a/b', '../etc/passwd', '/etc/passwd'],
    ...[253, 254, 255, 256, 4000].flatMap((n) => ['x'.repeat(n), `${'/'.repeat(n)}x`]),
  ];
  return names.flatMap((name) => [name, name, `fi_shm://${name}`]).map(text);
}

const EDGE_BYTES = [0, 1, 9, 32, 37, 46, 47, 58, 255];
/** The address of an endpoint with some bytes changed. */
function mutate(own) {
  const bytes = Uint8Array.from(own);
  const any = () => next(bytes.length);
  const put = (at, value) => bytes.fill(value, at, at + 1);
  const mutations = [
    (at) => put(at, bytes[at] ^ (1 << next(8))),
    (at) => put(at, next(256)),
    (at) => put(at, EDGE_BYTES[next(EDGE_BYTES.length)]),
    (at) => bytes.fill(next(256), at, any()),
  ];
  for (let times = 1 + next(3); times > 0; times--) mutations[next(mutations.length)](any());
  if (next(8) === 0) return bytes.subarray(0, any());
  if (provider === 'shm') bytes[bytes.length - 1] = 0;
  return bytes;
}

async function turnUntil(ep, promises) {
  let done = false;
  const all = Promise.all(promises).finally(() => {
    done = true;
  });
  while (!done) {
    ep.domain.progress();
    await new Promise(setImmediate);
  }
  return all;
}

/** Inserts and sends, with an address vector of its own, because shm's has room for 256 addresses. */
async function round(addresses, one) {
  const ep = await opened();
  const sends = [];
  addresses(ep).forEach((address, i) => {
    try {
      const peer = ep.av.insert(address);
      record('insert ok');
      if (i % one !== 0) return;
      const length = next(2) === 0 ? 8 : 10_000;
      sends.push(
        ep
          .send(new Uint8Array(length), peer, { timeout: 20 })
          .then(() => record('send ok'), settled('send')),
      );
    } catch (error) {
      settled('insert')(error);
    }
  });
  await turnUntil(ep, sends);
  await ep.close({ timeout: 20 }).catch(settled('close'));
}

if (provider === 'shm') {
  await round((ep) => namesOfFiles(ep.address), 1);
}
if (provider === 'efa') {
  // Unused bytes.
  await round((ep) => {
    return [...ep.address.keys()].map((i) => {
      const other = Uint8Array.from(ep.address);
      if (i === 18 || i === 19 || i >= 24) other[i] ^= 0x40;
      return other;
    });
  }, 8);
}
for (let left = Number(count); left > 0; left -= 240) {
  await round((ep) => Array.from({ length: Math.min(left, 240) }, () => mutate(ep.address)), 10);
}

const ep = await opened();
const unknown = [];
if (provider === 'efa') {
  // The address of an endpoint that does not exist. Messages to it must not arrive here.
  const other = Uint8Array.from(ep.address);
  other[17] ^= 0x40;
  try {
    unknown.push(ep.av.insert(other));
  } catch (error) {
    settled('insert')(error);
  }
}
const self = ep.av.insert(ep.address);
await turnUntil(
  ep,
  unknown.map((peer) => ep.send(new Uint8Array(4), peer, { timeout: 20 }).catch(settled('send'))),
);
const batch = ep.batch();
const got = new Uint8Array(4);
batch.recv(got);
batch.send(Uint8Array.of(1, 2, 3, 4), self);
batch.run(5000);
await ep.close();
console.log(JSON.stringify({ tally, got: [...got] }));
