// Inserts random addresses of every length, and prints the number of each outcome. If an address crashes a
// provider, this process ends and not the test.
import { FabricError, open } from 'libfabric';

const [provider, type, mode, seedText] = process.argv.slice(2);
const node = provider === 'shm' ? {} : { node: '127.0.0.1' };
const ep = await open({ provider, type, driver: 'manual', caps: ['FI_MSG'], ...node });

let seed = Number(seedText);
const next = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed >>> 24;
};

/** Random bytes. In mode 'near', they follow the start of an own address and end like a string. */
function addressOf(length) {
  const bytes = Uint8Array.from({ length }, next);
  if (mode === 'near') {
    bytes.set(ep.address.subarray(0, Math.min(length, next() % 12)));
    if (length > 0) bytes[length - 1] = 0;
  }
  return bytes;
}

const tally = {};
const count = (what) => {
  tally[what] = (tally[what] ?? 0) + 1;
};
const peers = [];
for (let length = 0; length <= 300; length++) {
  const address = addressOf(length);
  for (const call of ['insert', 'straddr']) {
    try {
      const result = ep.av[call](address);
      if (call === 'insert') peers.push(result);
      count(`${call} ok`);
    } catch (error) {
      if (!FabricError.is(error) && !/^ERR_/.test(error.code)) throw error;
      count(`${call} ${error.code}`);
    }
  }
}
for (const peer of peers) {
  if (peer.removed) continue;
  try {
    ep.av.lookup(peer);
  } catch (error) {
    // Its slot was reused for an address that was inserted later.
    if (error.code !== 'FI_EADDRNOTAVAIL') throw error;
  }
  await ep.av.remove(peer);
}

const self = ep.av.insert(ep.address);
const batch = ep.batch();
const got = new Uint8Array(4);
batch.recv(got);
batch.send(Uint8Array.of(1, 2, 3, 4), self);
batch.run(5000);
console.log(JSON.stringify({ tally, got: [...got] }));
await ep.close();
