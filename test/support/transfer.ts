// Helpers of the data transfer tests: pairs of endpoints in one process, for any provider and driver, and
// byte patterns that show the position of a wrong byte.
import {
  type AnyInfo,
  type Cap,
  type DriverKind,
  type Endpoint,
  getInfo,
  open,
  type Peer,
  version,
} from 'libfabric';
import { expect, type TestContext } from 'vitest';
import './softefa.js';
import { afterEveryTest } from './every-test.js';
import { settle } from './settle.js';

const opened = new Set<{ close(options?: { timeout: number }): Promise<void> }>();

afterEveryTest(async () => {
  const all = [...opened];
  opened.clear();
  await Promise.all(all.map((endpoint) => endpoint.close({ timeout: 500 })));
});

/** Closes an object when the test ends. */
export function closing<T extends { close(options?: { timeout: number }): Promise<void> }>(
  object: T,
): T {
  opened.add(object);
  return object;
}

/** Returns the provider's name on this machine. Skips the test if there is none. */
export function available(
  context: TestContext,
  provider: string,
  caps: readonly Cap[],
  type: 'FI_EP_RDM' | 'FI_EP_DGRAM' = 'FI_EP_RDM',
): string {
  const names = provider === 'tcp;ofi_rxm' ? [provider, 'tcp'] : [provider];
  const name = names.find((provName) => {
    const entries = getInfo({ fabricAttr: { provName }, epAttr: { type }, caps });
    return entries.some((info) => info.fabricAttr.provName === provName);
  });
  if (name === undefined) context.skip(`no ${provider} endpoint with ${caps.join(', ')} here`);
  return name as string;
}

/** Two endpoints with each other's address. */
export class Pair<T extends 'FI_EP_RDM' | 'FI_EP_DGRAM', C extends Cap> {
  readonly a: Endpoint<T, C>;
  readonly b: Endpoint<T, C>;
  /** The peer b in a's address vector. */
  readonly toB: Peer;
  /** The peer a in b's address vector. */
  readonly toA: Peer;

  constructor(a: Endpoint<T, C>, b: Endpoint<T, C>) {
    this.a = a;
    this.b = b;
    this.toB = a.av.insert(b.address);
    this.toA = b.av.insert(a.address);
  }

  /** Awaits a promise. With the manual driver, drives both engines until it settles. */
  done<V>(promise: Promise<V>): Promise<V> {
    return settle(promise, this.a.domain, this.b.domain);
  }

  /** Waits until b has posted that many operations: a datagram without a posted receive is dropped. */
  postedByB(operations: number): Promise<void> {
    return this.#posted(this.b, operations);
  }

  /** Waits until a has posted that many operations. */
  postedByA(operations: number): Promise<void> {
    return this.#posted(this.a, operations);
  }

  async #posted({ domain }: WithStats, operations: number): Promise<void> {
    while (domain.stats().operations < operations) {
      if (domain.driver === 'manual') domain.progress();
      await new Promise(setImmediate);
    }
  }

  /** Returns the error that a promise rejects with. */
  fails(promise: Promise<unknown>): Promise<unknown> {
    return this.done(
      promise.then(
        () => Promise.reject(new Error('succeeded')),
        (error: unknown) => error,
      ),
    );
  }
}

interface WithStats {
  readonly domain: {
    readonly driver: DriverKind;
    progress(): void;
    stats(): { readonly operations: number };
  };
}

/** Options that make providers with network addresses listen on loopback. */
export const loopback = (provider: string) =>
  provider === 'shm' || provider === 'efa' ? {} : { node: '127.0.0.1' };

/**
 * Returns the entry of a provider for a reliable endpoint over loopback, to open objects one by one. The
 * entry keeps the order of messages: efa of libfabric 2 does so only if requested.
 */
export function entryOf<const C extends Cap>(provName: string, caps: readonly C[]) {
  const place = loopback(provName);
  const msgOrder = ['FI_ORDER_SAS'] as const;
  const [info] = getInfo({
    fabricAttr: { provName },
    epAttr: { type: 'FI_EP_RDM' },
    caps,
    ...(provName === 'efa' && { txAttr: { msgOrder }, rxAttr: { msgOrder } }),
    ...('node' in place && { ...place, flags: ['FI_SOURCE'] as const }),
  });
  if (info === undefined) throw new Error(`no ${provName}`);
  return info;
}

/** Opens one endpoint over loopback. It is closed when the test ends. */
export async function endpoint<const C extends Cap>(
  context: TestContext,
  provider: string,
  caps: readonly C[],
  driver: DriverKind = 'thread',
): Promise<Endpoint<'FI_EP_RDM', C>> {
  const name = available(context, provider, caps);
  return closing(await open({ provider: name, caps, driver, ...loopback(name) }));
}

export async function pair<const C extends Cap>(
  context: TestContext,
  provider: string,
  caps: readonly C[],
  driver: DriverKind = 'thread',
): Promise<Pair<'FI_EP_RDM', C>> {
  const a = await endpoint(context, provider, caps, driver);
  return new Pair<'FI_EP_RDM', C>(a, await endpoint(context, provider, caps, driver));
}

export async function datagramPair(
  context: TestContext,
  provider: string,
  driver: DriverKind = 'thread',
): Promise<Pair<'FI_EP_DGRAM', 'FI_MSG'>> {
  available(context, provider, ['FI_MSG'], 'FI_EP_DGRAM');
  const options = { provider, type: 'FI_EP_DGRAM', driver, ...loopback(provider) } as const;
  const a = closing(await open(options));
  return new Pair<'FI_EP_DGRAM', 'FI_MSG'>(a, closing(await open(options)));
}

/** Resolves when no submission of a batch is in flight. */
export async function idle(batch: { readonly inFlight: number }): Promise<void> {
  while (batch.inFlight > 0) await new Promise(setImmediate);
}

const GUARD = 64;

/** A buffer between guard bytes. No transfer may write to the guards. */
export class Guarded {
  readonly memory: Uint8Array;
  readonly bytes: Uint8Array;

  constructor(length: number) {
    this.memory = new Uint8Array(length + 2 * GUARD).fill(0xa5);
    this.bytes = this.memory.subarray(GUARD, GUARD + length);
  }

  /** Checks the guards. */
  expectIntact(): void {
    const after = this.memory.subarray(GUARD + this.bytes.length);
    expect([...this.memory.subarray(0, GUARD)], 'before').toEqual(Array(GUARD).fill(0xa5));
    expect([...after], 'after').toEqual(Array(GUARD).fill(0xa5));
  }
}

/** The largest remote data that an endpoint carries. */
export function widestData({ info }: { readonly info: AnyInfo }): bigint {
  const { cqDataSize } = info.domainAttr;
  // efa of 1.17 reports 8 bytes and carries 4.
  const bytes = info.fabricAttr.provName === 'efa' ? Math.min(cqDataSize, 4) : cqDataSize;
  return 2n ** BigInt(8 * bytes) - 1n;
}

/**
 * Checks the remote data of a message. sockets, and efa of 1.17, report it only if the receive was posted
 * before the message arrived. A test across two endpoints cannot know the order.
 */
export function expectData(provider: string, actual: bigint | undefined, expected: bigint): void {
  const late = provider === 'sockets' || (provider === 'efa' && version().major < 2);
  if (late && actual === undefined) return;
  expect(actual).toBe(expected);
}

/** Returns a matcher of a FabricError. */
export function fabricError(code: string): unknown {
  return expect.objectContaining({ name: 'FabricError', code });
}

/** Returns the error code that efa reports for a status of its device. 1.x reports the same for all. */
export function efaError(status: 9 | 13 | 15): string {
  if (version().major < 2) return 'FI_EIO';
  return { 9: 'FI_ENOTCONN', 13: 'FI_ECONNABORTED', 15: 'FI_EHOSTUNREACH' }[status];
}
