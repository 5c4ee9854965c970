// Starts native transfers whose parameters are garbage, each in turn, and prints the outcomes. A crash ends this process
// and not the test. Argument: whether the engines map memory.
import { TransferEngine } from 'libfabric/transfer';
import { loadOnce } from '../../dist/contract/native.js';
import { nativeGrantOf } from '../../dist/transfer/token.js';

const SIZE = 8192;
const native = loadOnce();
const mapMemory = process.argv[2] === 'true';
async function sides() {
  const options = { provider: 'tcp', node: '127.0.0.1', mapMemory };
  const a = await TransferEngine.open(options);
  const b = await TransferEngine.open(options);
  const [toB, toA] = [await a.peer(b.address), await b.peer(a.address)];
  return { toB, toA, from: await a.allocate(SIZE), into: await b.allocate(SIZE) };
}

const { toB, toA, from, into } = await sides();
const part = from.slice();
const { engine } = part.memory.owner;
const mapping = mapMemory ? native.transferMap(engine, into.file.fd, true) : undefined;
const detached = (array) => {
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
};
const pairs = (...values) => Float64Array.from(values);

const anything = [undefined, null, 'x', {}, [], () => {}, Symbol('x'), 2n ** 70n, true];
const numbers = [Number.NaN, -1, 0.5, 2 ** 31, 2 ** 32, 2 ** 53, Number.POSITIVE_INFINITY, 0];
const arrays = [
  new Uint8Array(16),
  new Float32Array(4),
  new Float64Array(0),
  new Uint32Array(0),
  new Uint32Array(1000).fill(7),
  new BigUint64Array(0),
  new BigUint64Array(4),
  new BigUint64Array(3000),
  detached(new Float64Array(2)),
  detached(new Uint32Array(1)),
  pairs(2 ** 40, SIZE),
  pairs(SIZE, 1),
  pairs(-SIZE, SIZE),
  pairs(0, -1),
  pairs(Number.NaN, SIZE),
  pairs(0, 0.5),
  pairs(0, 2 ** 52),
  pairs(0, 2 ** 53, 0, 2 ** 53),
  pairs(0, 0),
  pairs(0, 1, 2),
];
const garbage = [...anything, ...numbers, ...arrays];

/** A valid order for a new offer, like the one that remote.write() makes. */
async function order() {
  const { token } = await into.offer({ access: 'write', to: toA });
  const grant = toB.grant(token);
  const { handles, numaNode } = from;
  const pieces = part.pieces;
  const notification = undefined;
  const content = { ...nativeGrantOf(grant) };
  return {
    order: {
      ...{ peer: toB.handle, isWrite: true, priority: 1, memories: handles, pieces, mapping },
      ...{ numaNode: numaNode ?? -1, notification, mappingOffset: 0, part: undefined },
    },
    grant: content,
  };
}

const outcomes = {};
async function attempt(name, change) {
  const { order: given, grant } = await order();
  change(given, grant);
  try {
    native.transferStart(engine, { ...given, grant: given.grant ?? grant });
    outcomes[name] = 'started';
  } catch (error) {
    outcomes[name] = error instanceof Error ? 'refused' : 'thrown';
  }
}

let count = 0;
const { order: anOrder, grant: aGrant } = await order();
for (const value of garbage) {
  for (const key of Object.keys(anOrder)) {
    await attempt(`order.${key} ${count++}`, (given) => {
      given[key] = value;
    });
  }
  for (const key of Object.keys(aGrant)) {
    await attempt(`grant.${key} ${count++}`, (_, grant) => {
      grant[key] = value;
    });
  }
  for (const given of [
    [value, 1],
    [pairs(0, SIZE), value],
  ]) {
    try {
      native.transferSlices(engine, ...given);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
    await attempt(`part ${count++}`, (each) => {
      each.part = { pieces: given[0], slices: given[1] };
    });
  }
  for (const call of [
    () => native.transferNotify(engine, toB.handle, value, 1, 0, 1),
    () => native.transferTake(engine, toB.handle, value, 0, 0),
    () => native.transferPeer(engine, 1n, value, 1, false),
    () => native.transferPeer(engine, 1n, Uint32Array.of(0), value, false),
    () => native.transferOffer(engine, toB.handle, value),
    () => native.transferConclude(engine, value),
    () => native.transferConclude(engine, { peer: toB.handle, grant: value }),
    () => native.transferNumaNode(value),
  ]) {
    try {
      call();
      count++;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
  }
}
try {
  native.transferNotify(engine, toB.handle, new Uint8Array(70_000), 1, 0, 1); // more than a message
  outcomes.long = 'started';
} catch {
  outcomes.long = 'refused';
}

// What a program reaches of a grant.
const other = await sides();
other.from.bytes.fill(7);
const offer = await other.into.offer({ access: 'write', to: other.toA });
const grant = other.toB.grant(offer.token);
grant.pieces.fill(Number.NaN);
structuredClone(grant.pieces.buffer, { transfer: [grant.pieces.buffer] });
await other.toB.write(other.from, grant);
await offer.arrived;
const isWritten = other.into.bytes.every((value) => value === 7);
console.log(JSON.stringify({ outcomes, isWritten, isFrozen: isDeeplyFrozen(grant) }));
process.exit(0);

function isDeeplyFrozen(value) {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen);
}
