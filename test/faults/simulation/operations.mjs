// Both sides of each kind of operation. A side returns how many bytes it has checked.
import { receiveBurst, sendBurst, sendNotes } from './bursts.mjs';
import { bytesOf, isOf, messageOf, readMessage } from './bytes.mjs';
import { SLOTS } from './plan.mjs';
import { TRANSFERS } from './profiles.mjs';
import { check, outcomeOf } from './settling.mjs';
import { arrivalOf, offerOf, transfer } from './transfers.mjs';

const DELIVERED = { flags: ['FI_DELIVERY_COMPLETE'] };
const PIECES = 8;

/** The first step of an operation's target. The keys are kinds. Other kinds have passive targets. */
const TARGETS = {
  async message({ own, wait, room }) {
    const buffer = new Uint8Array(room);
    const { length } = await own.endpoint.recv(buffer, null, wait);
    const { id, whole } = readMessage(buffer.subarray(0, length));
    check(whole, `a message of ${length} bytes with the number ${id} has other bytes`);
    return { bytes: length, arrived: id, length };
  },
  async tagged({ own, wait, id, bytes }) {
    const buffer = new Uint8Array(bytes);
    const { length } = await own.endpoint.trecv(buffer, null, id, 0, wait);
    check(length === bytes && isOf(id, buffer), `tagged message ${id} has other bytes`);
    return { bytes };
  },
  burst: receiveBurst,
  notes: (operation) => operation.own.notes.receive(operation),
};

const INITIATORS = {
  async message({ own, wait, id, bytes, peer }) {
    await own.endpoint.send(messageOf(id, bytes), peer.address, wait);
    return {};
  },
  async tagged({ own, wait, id, bytes, peer }) {
    await own.endpoint.tsend(bytesOf(id, bytes), peer.address, id, wait);
    return {};
  },
  async write({ own, wait, id, bytes, slot, peer }) {
    const options = { ...wait, ...DELIVERED, offset: slot * own.slot };
    await own.endpoint.write(bytesOf(id, bytes), peer.address, peer.region, options);
    return {};
  },
  async read({ own, wait, bytes, slot, expected, peer }) {
    const buffer = new Uint8Array(bytes);
    await own.endpoint.read(buffer, peer.address, peer.region, {
      ...wait,
      offset: slot * own.slot,
    });
    if (expected === undefined) return {};
    const known = buffer.subarray(0, Math.min(bytes, expected.bytes));
    check(isOf(expected.id, known), `a read of slot ${slot} gives other bytes`);
    return { bytes: known.length };
  },
  async batch({ own, wait, id, bytes, slot, peer }) {
    const batch = own.endpoint.batch();
    const piece = Math.ceil(bytes / PIECES);
    for (let at = 0; at < bytes; at += piece) {
      const part = bytesOf(id, bytes).subarray(at, at + piece);
      const options = { ...DELIVERED, offset: slot * own.slot + at };
      batch.write(part, peer.address, peer.region, options);
    }
    await batch.submit(wait);
    return {};
  },
  async atomic({ own, wait, peer }) {
    const before = new BigUint64Array(1);
    const options = { ...wait, datatype: 'FI_UINT64', op: 'FI_SUM', offset: SLOTS * own.slot };
    await own.endpoint.fetchAtomic(
      BigUint64Array.of(1n),
      before,
      peer.address,
      peer.region,
      options,
    );
    return { bytes: 8, before: Number(before[0]) };
  },
  burst: sendBurst,
  notes: sendNotes,
  ...Object.fromEntries(Object.keys(TRANSFERS).map((kind) => [kind, transfer])),
};

function optionsOf({ timeout, abort }) {
  if (abort === undefined) return { timeout };
  return { timeout, signal: AbortSignal.timeout(abort) };
}

const start = (table, side, own, operation) =>
  outcomeOf(operation.id, side, operation.timeout, async () =>
    table[operation.kind]({
      ...operation,
      own,
      wait: optionsOf(operation),
      peer: own.peers[operation.to],
    }),
  );

/** Starts the receiving sides. Returns their outcomes and the tokens of offers. */
export async function receive(own, operations) {
  const outcomes = operations
    .filter(({ kind }) => kind in TARGETS)
    .map((operation) => start(TARGETS, 'target', own, operation));
  const tokens = {};
  for (const operation of operations) {
    const { id, kind, timeout } = operation;
    if (!(kind in TRANSFERS)) continue;
    const offer = await offerOf(own, operation);
    if (offer === undefined) continue;
    tokens[id] = offer.token;
    outcomes.push(outcomeOf(id, 'target', timeout, () => arrivalOf(own, offer, operation)));
  }
  return { outcomes, tokens };
}

export const initiate = (own, operations) =>
  operations.map((operation) => start(INITIATORS, 'initiator', own, operation));

/** Compares slots of the own region with the bytes that were written there. */
export function checkSlots(own, slots) {
  return slots.flatMap(({ slot, id, bytes }) => {
    const found = own.region.bytes.subarray(slot * own.slot, slot * own.slot + bytes);
    return isOf(id, found) ? [] : [`slot ${slot} has other bytes than write ${id} of ${bytes}`];
  });
}

export function counterOf({ slot, region: { bytes } }) {
  return Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(SLOTS * slot, true));
}

/** The bytes of a region. */
export const regionOf = (slot) => SLOTS * slot + 8;
