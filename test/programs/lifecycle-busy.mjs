// A module, not a program: an endpoint with all kinds of operations in flight, for programs that end in this state.
import { open } from 'libfabric';

const CAPS = ['FI_MSG', 'FI_TAGGED', 'FI_RMA'];
const ignore = () => {};

/** Drives manual domains as long as the event loop runs. */
export function turn(...endpoints) {
  if (endpoints[0].domain.driver !== 'manual') return;
  const step = () => {
    const open = endpoints.filter(({ domain }) => !domain.closed);
    for (const { domain } of open) domain.progress();
    if (open.length > 0) setImmediate(step);
  };
  step();
}

/** Two endpoints in separate domains, each with the other as its peer. */
export async function pair(provider, driver, caps = CAPS) {
  const a = await open({ provider, driver, caps });
  const b = await open({ provider, driver, caps });
  turn(a, b);
  const peer = a.av.insert(b.address);
  const received = b.recv(new Uint8Array(8));
  await Promise.all([a.send(new Uint8Array(8), peer), received]);
  return { a, b, peer };
}

/**
 * Posts receives for which no message arrives, more sends than fit at a peer that does not receive, and a stream of
 * writes. Resolves when all of them are in flight.
 */
export async function busy(provider, driver) {
  const { a, b: silent, peer } = await pair(provider, driver);
  const region = await silent.domain.allocate(1 << 20, ['FI_REMOTE_WRITE']);
  const remote = a.domain.remote(region.descriptor());
  const arrival = a.recv(new Uint8Array(64));
  arrival.catch(ignore);
  for (let i = 0; i < 200; i++) {
    a.recv(new Uint8Array(64)).catch(ignore);
    a.trecv(new Uint8Array(64), null, i).catch(ignore);
  }
  const batch = a.batch();
  const payload = await a.domain.register(new Uint8Array(4096).fill(1), ['FI_WRITE']);
  for (let i = 0; i < 64; i++) batch.write(payload, peer, remote, { offset: i * 4096 });
  const stream = async () => {
    for (;;) await batch.submit();
  };
  stream().catch(ignore);
  await batch.submit();
  const before = a.domain.stats().operations;
  for (let i = 0; i < 3000; i++) a.send(new Uint8Array(256), peer).catch(ignore);
  a.send(new Uint8Array(1 << 20), peer).catch(ignore);
  while (a.domain.stats().operations < before + 500) await new Promise(setImmediate);
  // Prevents garbage collection.
  globalThis.busy = [...(globalThis.busy ?? []), a, silent, region, payload];
  /** Sends the busy endpoint a message, and resolves when it has arrived. */
  const sendMessage = async () => {
    await silent.send(new Uint8Array(64), silent.av.insert(a.address));
    await arrival;
  };
  return { a, silent, peer, sendMessage };
}
