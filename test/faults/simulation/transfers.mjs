// Both sides of the transfers of engines: from parts of the sequence, or its pages, to parts of an arena, or its pages.
import { randomOf } from '../../ends/plan.mjs';
import { bytesOf, isOf, same, sequenceFor, startOf } from './bytes.mjs';
import { TRANSFERS } from './profiles.mjs';
import { check } from './settling.mjs';

/** The numbers from 0 to count - 1, in an order that depends on the text. */
function shuffled(count, text) {
  const random = randomOf(text);
  const list = Uint32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [list[i], list[j]] = [list[j], list[i]];
  }
  return list;
}

const pagesOf = ({ id, bytes, page }, side, first) =>
  shuffled(bytes / page, `${side} ${id}`).map((index) => first + index);

const sourcePages = (operation) =>
  pagesOf(operation, 'source', Math.floor(startOf(operation.id) / operation.page));
const targetPages = (operation) => pagesOf(operation, 'target', operation.at / operation.page);

function source(own, operation) {
  const { id, kind, bytes, page } = operation;
  if (!TRANSFERS[kind].sourcePages) return own.all.slice(startOf(id), startOf(id) + bytes);
  return own.all.pages({ indices: sourcePages(operation), size: page });
}

function target(own, operation) {
  const { kind, at, bytes, page } = operation;
  if (!TRANSFERS[kind].targetPages) return own.arena.slice(at, at + bytes);
  return own.arena.pages({ indices: targetPages(operation), size: page });
}

/** Whether the bytes of a transfer are in the arena. */
function isThere(own, operation) {
  const { id, kind, at, bytes, page } = operation;
  const found = own.arena.bytes;
  const { sourcePages: gathers, targetPages: scatters } = TRANSFERS[kind];
  if (!gathers && !scatters) return isOf(id, found.subarray(at, at + bytes));
  const sequence = sequenceFor(bytes);
  const from = gathers ? sourcePages(operation) : undefined;
  const to = scatters ? targetPages(operation) : undefined;
  for (let i = 0; i < bytes / page; i++) {
    const start = from ? from[i] * page : startOf(id) + i * page;
    const place = to ? to[i] * page : at + i * page;
    const expected = sequence.subarray(start, start + page);
    if (!same(found.subarray(place, place + page), expected)) return false;
  }
  return true;
}

/** Memory with the bytes of an operation. `reuse()` overwrites it when it has been released. */
async function memoryOf(own, { id, bytes }) {
  const memory = Uint8Array.from(bytesOf(id, bytes));
  const place = await own.engine.register(memory);
  const reuse = async (released) => {
    await released;
    memory.fill(0xff);
    await place.close().catch(() => {}); // the engine is closed
  };
  return { place, reuse };
}

/** Offers the memory for a transfer of a peer. Undefined if a fault prevents it. */
export async function offerOf(own, operation) {
  const { kind, from, timeout } = operation;
  const { access, reuses } = TRANSFERS[kind];
  const options = { access, to: own.peers[from].engine, expires: timeout };
  try {
    if (access === 'write') return await target(own, operation).offer(options);
    if (!reuses) return await source(own, operation).offer(options);
    const { place, reuse } = await memoryOf(own, operation);
    const offer = await place.offer(options);
    reuse(offer.released);
    return offer;
  } catch {
    return undefined;
  }
}

/** Ends an offer: checks the bytes that were written. */
export async function arrivalOf(own, offer, operation) {
  const { id, kind, bytes } = operation;
  try {
    const arrival = await offer.arrived;
    const writes = TRANSFERS[kind].access === 'write';
    check(arrival.length === bytes, `${kind} ${id} arrives with ${arrival.length} bytes`);
    check(!writes || isThere(own, operation), `${kind} ${id} has other bytes`);
    await offer.released; // an offer that closes earlier is withdrawn: its writer may get FI_ECANCELED
    return writes ? { bytes } : {};
  } finally {
    await offer.close().catch(() => {});
  }
}

/** Writes to the memory that the peer has offered, or reads it. */
export async function transfer(operation) {
  const { own, kind, id, bytes, token, timeout, peer, wait } = operation;
  if (token === undefined) return {}; // the target could not offer memory
  const options = { timeout: timeout, ...(wait.signal && { signal: wait.signal }) };
  const { access, reuses } = TRANSFERS[kind];
  if (access === 'write' && reuses) {
    const { place, reuse } = await memoryOf(own, operation);
    const writing = peer.engine.write(place, token, options);
    reuse(writing.released);
    await writing;
    return {};
  }
  if (access === 'write') {
    await peer.engine.write(source(own, operation), token, options);
    return {};
  }
  await peer.engine.read(token, target(own, operation), options);
  check(isThere(own, operation), `${kind} ${id} has other bytes`);
  return { bytes };
}
