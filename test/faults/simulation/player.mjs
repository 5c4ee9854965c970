// A process of the simulation. It executes the coordinator's requests, one at a time.
import { dumpState, open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';
import { keptBy } from '../../ends/limits.mjs';
import { holdings, mappedSharedFiles, more } from '../../ends/residue.mjs';
import { Notes } from './bursts.mjs';
import { sequenceFor } from './bytes.mjs';
import { checkSlots, counterOf, initiate, receive, regionOf } from './operations.mjs';

const CLEANUP_LIMIT = 3000; // ms within which closed resources must be gone

let own;
let pending = [];
let before;
let parkedBefore = 0;

const turn = (domain) => {
  if (domain.closed) return;
  domain.progress();
  setImmediate(turn, domain);
};

const calls = {
  async open({ options, driver, caps, slot = 8, transfers }) {
    const endpoint = await open({ ...options, driver, caps });
    if (driver === 'manual') turn(endpoint.domain);
    own = { endpoint, slot, peers: [] };
    try {
      const access = ['FI_REMOTE_WRITE', 'FI_REMOTE_READ'];
      own.region = await endpoint.domain.allocate(regionOf(slot), access);
      if (transfers) {
        const { maps, longest, arena } = transfers;
        own.engine = await TransferEngine.open({ ...options, nics: 1, mapMemory: maps });
        own.all = await own.engine.register(sequenceFor(longest));
        own.arena = await own.engine.allocate(arena);
        own.notes = new Notes(own.engine);
      }
    } catch (error) {
      await calls.close();
      throw error;
    }
    const { address } = endpoint;
    const files = mappedSharedFiles(); // its own: it has no peers yet
    return {
      address,
      descriptor: own.region.descriptor(),
      engineAddress: own.engine?.address,
      files,
    };
  },
  async connect({ peers }) {
    own.peers = [];
    for (const peer of peers) own.peers.push(await connected(peer));
  },
  /** A peer has opened everything again. The peer with its address now is inserted before the old one is removed. */
  async meet({ index, peer }) {
    const old = own.peers[index];
    own.peers[index] = await connected(peer);
    await Promise.all([own.endpoint.av.remove(old.address), old.engine?.close()]);
  },
  async prepare({ operations }) {
    const { outcomes, tokens } = await receive(own, operations);
    pending = outcomes;
    return tokens;
  },
  async go({ operations, faults }) {
    const { endpoint } = own;
    for (const { kind, milliseconds } of faults) {
      if (kind === 'slow') setTimeout(block, 5, milliseconds);
      if (kind === 'closed') setTimeout(() => endpoint.close().catch(() => {}), milliseconds);
    }
    return Promise.all([...pending, ...initiate(own, operations)]);
  },
  check: async ({ slots }) => ({ problems: checkSlots(own, slots), counter: counterOf(own) }),
  async close() {
    const { endpoint, engine } = own ?? {};
    own = undefined;
    const closing = [engine?.close(), endpoint?.close({ timeout: 500 })];
    const failed = (await Promise.allSettled(closing)).filter(({ reason }) => reason !== undefined);
    return failed.map(({ reason }) => reason.code ?? String(reason));
  },
  async baseline() {
    globalThis.gc?.();
    before = holdings();
    parkedBefore = dumpState().parked.length;
  },
  async leftovers({ provider }) {
    const end = performance.now() + CLEANUP_LIMIT;
    for (;;) {
      globalThis.gc?.(); // memory that peers map stays until nothing refers to its bytes
      const left = more(before, holdings()).filter((what) => !keptBy({ provider }, what));
      const parked = dumpState().parked.length - parkedBefore;
      if (left.length === 0 || parked > 0 || performance.now() > end) return { left, parked };
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  },
};

async function connected({ address, descriptor, engineAddress, self }) {
  if (self) return undefined;
  return {
    address: own.endpoint.av.insert(address),
    region: own.endpoint.domain.remote(descriptor),
    engine: engineAddress && (await own.engine.peer(engineAddress)),
  };
}

/** Blocks the event loop. */
function block(milliseconds) {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

process.on('message', async ({ id, call, value }) => {
  const answer = { id };
  try {
    answer.value = await calls[call](value);
  } catch (error) {
    answer.error = { code: error.code, stack: error.stack };
  }
  if (process.connected) process.send(answer);
});
process.on('disconnect', () => process.exit());
