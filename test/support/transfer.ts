// What the data transfer tests share: pairs of endpoints of one process, over any provider and under
// any driver, and bytes that tell where they went wrong.
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
import { afterEach, expect, type TestContext } from 'vitest';
import './softefa.js';
import { HANG_MS } from './limits.js';

/** Providers of reliable endpoints; libfabric 2 calls the second one tcp. */
export const reliable = ['efa', 'shm', 'tcp;ofi_rxm', 'sockets', 'udp;ofi_rxd', 'net'] as const;
/** Those that applications use; efa runs on the software device. */
export const common = ['efa', 'shm', 'tcp;ofi_rxm'] as const;
export const datagram = ['efa', 'udp', 'sockets'] as const;
export const drivers = ['thread', 'loop', 'manual'] as const;

/** Every driver on the common providers, the loop on the others: `[provider, driver]`. */
export const everywhere = reliable.flatMap((provider) =>
  (common as readonly string[]).includes(provider)
    ? drivers.map((driver) => [provider, driver] as const)
    : [[provider, 'loop'] as const],
);

/** ms until an operation that has not settled is a failure. */

const opened = new Set<{ close(options?: { timeout: number }): Promise<void> }>();

afterEach(async () => {
  const all = [...opened];
  opened.clear();
  await Promise.all(all.map((endpoint) => endpoint.close({ timeout: 500 })));
});

/** Closes an object when the test has ended. */
export function closing<T extends { close(options?: { timeout: number }): Promise<void> }>(
  object: T,
): T {
  opened.add(object);
  return object;
}

/** The provider's name on this machine, or a skipped test. */
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

/** Two endpoints that know each other. */
export class Pair<T extends 'FI_EP_RDM' | 'FI_EP_DGRAM', C extends Cap> {
  readonly a: Endpoint<T, C>;
  readonly b: Endpoint<T, C>;
  /** b, as a knows it. */
  readonly toB: Peer;
  /** a, as b knows it. */
  readonly toA: Peer;

  constructor(a: Endpoint<T, C>, b: Endpoint<T, C>) {
    this.a = a;
    this.b = b;
    this.toB = a.av.insert(b.address);
    this.toA = b.av.insert(a.address);
  }

  /** What a promise settles with; with the manual driver, turns both engines until it does. */
  done<V>(promise: Promise<V>): Promise<V> {
    return settle(promise, this.a, this.b);
  }

  /** Waits until b has posted so many operations: a datagram that finds no buffer is lost. */
  postedByB(operations: number): Promise<void> {
    return this.#posted(this.b, operations);
  }

  /** The same of a. */
  postedByA(operations: number): Promise<void> {
    return this.#posted(this.a, operations);
  }

  async #posted({ domain }: Driven & Stated, operations: number): Promise<void> {
    while (domain.stats().operations < operations) {
      if (domain.driver === 'manual') domain.progress();
      await new Promise(setImmediate);
    }
  }

  /** The error that a promise rejects with. */
  fails(promise: Promise<unknown>): Promise<unknown> {
    return this.done(
      promise.then(
        () => Promise.reject(new Error('succeeded')),
        (error: unknown) => error,
      ),
    );
  }
}

interface Stated {
  readonly domain: { stats(): { readonly operations: number } };
}

interface Driven {
  readonly domain: { readonly driver: DriverKind; readonly closed: boolean; progress(): void };
}

/** Awaits with a deadline, and turns engines of the manual driver meanwhile. */
export async function settle<V>(promise: Promise<V>, ...endpoints: Driven[]): Promise<V> {
  let pending = true;
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      pending = false;
      reject(new Error(`not settled within ${HANG_MS} ms`));
    }, HANG_MS);
  });
  const outcome = Promise.race([promise, deadline]).finally(() => {
    pending = false;
    clearTimeout(timer);
  });
  outcome.catch(() => {});
  const driven = endpoints.map(({ domain }) => domain).filter((d) => d.driver === 'manual');
  while (pending && driven.length > 0) {
    for (const domain of driven) if (!domain.closed) domain.progress();
    await new Promise(setImmediate);
  }
  return outcome;
}

/** Where providers with network addresses are to listen. */
export const loopback = (provider: string) =>
  provider === 'shm' || provider === 'efa' ? {} : { node: '127.0.0.1' };

/**
 * A provider's entry for a reliable endpoint over loopback, to open objects one by one. Messages keep
 * their order, which efa of libfabric 2 has to be asked for.
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

/** Opens one endpoint over loopback; it is closed when the test has ended. */
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

/** Bytes that differ from place to place and from seed to seed. */
export function pattern(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let x = (seed * 2654435761) >>> 0 || 1;
  for (let i = 0; i < length; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    bytes[i] = x;
  }
  return bytes;
}

/** Compares byte by byte and names the first place that differs. */
export function expectBytes(actual: Uint8Array, expected: Uint8Array): void {
  if (Buffer.compare(actual, expected) === 0) return;
  const at = expected.findIndex((byte, i) => actual[i] !== byte);
  expect(actual.length, 'length').toBe(expected.length);
  expect.fail(`byte ${at} is ${actual[at]}, not ${expected[at]}`);
}

const GUARD = 64;

/** A buffer between guard bytes, which nobody may write. */
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
  // 1.17's efa offers 8 bytes and carries 4.
  const bytes = info.fabricAttr.provName === 'efa' ? Math.min(cqDataSize, 4) : cqDataSize;
  return 2n ** BigInt(8 * bytes) - 1n;
}

/**
 * Checks remote data of a message. sockets, and 1.17's efa, report it only where the receive was there
 * before the message, which no test across two endpoints can tell.
 */
export function expectData(provider: string, actual: bigint | undefined, expected: bigint): void {
  const late = provider === 'sockets' || (provider === 'efa' && version().major < 2);
  if (late && actual === undefined) return;
  expect(actual).toBe(expected);
}

/** What a FabricError looks like. */
export function fabricError(code: string): unknown {
  return expect.objectContaining({ name: 'FabricError', code });
}

/** What efa makes of its device's status of an operation; 1.x makes no difference. */
export function efaError(status: 9 | 13 | 15): string {
  if (version().major < 2) return 'FI_EIO';
  return { 9: 'FI_ENOTCONN', 13: 'FI_ECONNABORTED', 15: 'FI_EHOSTUNREACH' }[status];
}
