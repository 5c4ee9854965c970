// Frees memory of an accelerator while it is registered by its pointer, as another library of the process may do, and uses
// the region. Prints for each use its outcome, the resources that it left, and whether the endpoints still work.
//   node device-memory-freed.mjs cuda|neuron efa|efa-direct before|during|replaced
// The memory is freed before the operation, while it is in flight, or before it and then allocated again at the same address.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dumpState, open } from 'libfabric';
import { SoftefaFaults } from 'libfabric/softefa';
import { loadCuda, loadNeuron } from '../../dist/contract/load.js';

const [library, fabric, when] = process.argv.slice(2);
const other = library === 'cuda' ? loadCuda() : loadNeuron();
const faults = new SoftefaFaults();
const SIZE = 2 ** 20;
const RIGHTS = ['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE', 'FI_REMOTE_READ', 'FI_REMOTE_WRITE'];

// libfabric 2.1 to 2.4 look for Neuron once, and find it only if the runtime has been started.
other.free(other.allocate(0, SIZE).handle);

async function connect() {
  const opening = { provider: 'efa', fabric, caps: ['FI_MSG', 'FI_RMA', 'FI_HMEM'] };
  const [a, b] = [await open(opening), await open(opening)];
  const [toB, toA] = [a.av.insert(b.address), b.av.insert(a.address)];
  const near = await a.domain.register(new Uint8Array(SIZE), RIGHTS);
  const far = await b.domain.register(new Uint8Array(SIZE), RIGHTS);
  return { a, b, toB, toA, near, far, remote: a.domain.remote(far.descriptor()) };
}

// A message of host memory.
async function exchange({ a, b, toB, near, far }) {
  const received = b.recv(far.slice(0, 100), null);
  await a.send(near.slice(0, 100), toB);
  await received;
}

const sent =
  (length) =>
  async ({ a, b, toB, far }, region) => {
    const unsent = new AbortController();
    const received = b.recv(far, null, { signal: unsent.signal });
    try {
      await a.send(region.slice(0, length), toB);
    } catch (error) {
      unsent.abort();
      await received.catch(() => {});
      throw error;
    }
    await received;
  };

const operations = {
  'write()': ({ a, toB, remote }, region) => a.write(region, toB, remote),
  'read()': ({ a, toB, remote }, region) => a.read(region, toB, remote),
  'send() of 16 bytes': sent(16),
  'send() of 8000 bytes': sent(8000),
  ...(fabric === 'efa' && { 'send() of 1 MiB': sent(SIZE) }),
  'a write of a peer': ({ b, toA, far }, region) =>
    b.write(far, toA, b.domain.remote(region.descriptor())),
};

// Starts an operation. If the memory must be freed meanwhile, its packets wait until the result's `finish()`.
async function start(operation, pair, region) {
  if (when !== 'during') return { finish: () => operation(pair, region) };
  const frozen = faults.add('freeze');
  let settled = false;
  const done = operation(pair, region).finally(() => {
    settled = true;
  });
  done.catch(() => {});
  while (frozen.hits === 0 && !settled) await new Promise(setImmediate);
  const finish = () => {
    frozen.remove();
    return done;
  };
  return { finish };
}

// The memory must be freed before the peer's message arrives.
async function startReceive(pair, region) {
  const { a, b, toA, far } = pair;
  const receive = () => {
    const received = a.recv(region, null);
    received.catch(() => {});
    return received;
  };
  const posted = when === 'during' ? receive() : undefined;
  if (posted) await exchange(pair);
  const finish = async () => {
    const received = posted ?? receive();
    await Promise.allSettled([received, b.send(far.slice(0, 8000), toA)]);
    await received;
  };
  return { finish };
}

const uses = {
  'close()': () => ({ finish: async () => {} }),
  'recv()': startReceive,
  ...Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => [
      name,
      (pair, region) => start(operation, pair, region),
    ]),
  ),
};

async function endOf(work) {
  try {
    await work;
    return 'done';
  } catch (error) {
    return error.code ?? String(error);
  }
}

async function tryUse(use, pair) {
  const memory = other.allocate(0, SIZE);
  const region = await pair.a.domain.register(
    { type: library, pointer: memory.pointer, byteLength: SIZE, device: 0 },
    RIGHTS,
  );
  if (!region.deviceAccess.startsWith('FI_HMEM_')) throw new Error(region.deviceAccess);
  const { finish } = await use(pair, region);
  other.free(memory.handle);
  const next = when === 'replaced' ? other.allocate(0, SIZE) : undefined;
  if (next !== undefined && next.pointer !== memory.pointer) throw new Error('another address');
  const ended = await endOf(finish());
  const closed = await endOf(region.close());
  if (next !== undefined) other.free(next.handle);
  return { ended, closed };
}

// softefa looks through its folder from time to time, with a descriptor that is soon closed.
function descriptors() {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return undefined; // closed meanwhile
    }
  });
  return targets.filter((target) => target && !/^\/dev\/shm\/softefa-[^/]*$/.test(target)).length;
}

// Descriptors, mappings of the device's memory by the NIC, and registered regions.
function held() {
  const maps = readFileSync('/proc/self/maps', 'latin1').split(`memfd:fake-${library}`);
  const regions = dumpState().domains.map(({ engine }) => engine?.memory.regions ?? 0);
  return [descriptors(), maps.length, regions.reduce((a, b) => a + b, 0)];
}

for (const [name, use] of Object.entries(uses)) {
  const pair = await connect();
  await exchange(pair);
  const before = held();
  const result = await tryUse(use, pair);
  const left = held().map((count, i) => count - before[i]);
  const after = await endOf(exchange(pair));
  await Promise.all([pair.a.close(), pair.b.close()]);
  console.log(JSON.stringify({ name, ...result, left, after }));
}
faults.close();
