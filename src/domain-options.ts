import { checkInteger, checkMilliseconds, checkOptions, namesOf, oneOf } from './base/checks.js';
import type { DriverKind } from './base/drivers.js';
import { invalidArgType } from './base/errors.js';
import { isArray } from './base/objects.js';
import type { Domain } from './domain.js';

/** How the engine of a domain is driven. */
export interface DomainOptions {
  /**
   * What drives the engine: a native thread of the domain ('thread'), the event loop ('loop'), or
   * the caller with progress() and wait() ('manual').
   */
  readonly driver?: DriverKind;
  /** The CPU cores that the driver's thread may run on. */
  readonly affinity?: readonly number[];
  /**
   * Another domain, whose thread also drives this one. If omitted, the domain has its own thread.
   * One thread for several NICs takes fewer cores, but a provider call that blocks delays them all.
   */
  readonly threadOf?: Domain;
  /**
   * Milliseconds that a driver keeps polling after its last work. If omitted, 1. While sends, RMA
   * or atomics are in flight, it polls 20 times as long.
   */
  readonly spin?: number;
  /**
   * Milliseconds between the polls of an idle driver if the provider has no wait object. If
   * omitted, 1. After 256 polls without work, a thread polls half as often. The event loop's clock
   * has a resolution of milliseconds.
   */
  readonly idle?: number;
  /**
   * Milliseconds for which the event loop itself runs the engine after it has read completions, instead of waiting for a
   * wake-up of the driver's thread. If omitted, 0. During long callbacks, and while the engine works most of the time, the
   * thread runs it. Only for the driver 'thread'. Without effect on Bun.
   */
  readonly busyPoll?: number;
}

const DRIVERS = ['thread', 'loop', 'manual'] as const satisfies DriverKind[];

/** The names of a domain's options. */
export const DOMAIN_NAMES = namesOf<DomainOptions>({
  driver: 1,
  affinity: 1,
  threadOf: 1,
  spin: 1,
  idle: 1,
  busyPoll: 1,
});

const MAX_POLLING = 60_000; // ms
const MAX_CORES = 1024;
// Bun ends the process at uv_backend_timeout().
const HAS_LOOP = process.versions.bun === undefined;

/** The options, checked, with defaults. The caller checks `threadOf`. */
export function checkDomainOptions(given: DomainOptions | undefined) {
  const options = checkOptions('options', given, DOMAIN_NAMES);
  const affinity = options.affinity ?? [];
  if (!isArray(affinity) || affinity.length > MAX_CORES) {
    throw invalidArgType('options.affinity', 'an array of cores', affinity);
  }
  return {
    driver: checkDriver(options.driver ?? 'thread'),
    affinity: Array.from(affinity, (core, i) =>
      checkInteger(`options.affinity[${i}]`, core, 0, MAX_CORES - 1),
    ),
    threadOf: options.threadOf as Domain | undefined,
    spin: checkMilliseconds('options.spin', options.spin ?? 1, 0, MAX_POLLING),
    idle: checkMilliseconds('options.idle', options.idle ?? 1, 0.001, MAX_POLLING),
    busyPoll: checkBusyPoll(options.busyPoll ?? 0),
  };
}

function checkDriver(given: unknown): DriverKind {
  const driver = oneOf('options.driver', given, DRIVERS);
  if (driver === 'loop' && !HAS_LOOP) throw withoutLoop();
  return driver;
}

function withoutLoop(): Error {
  const text =
    "the driver 'loop' needs functions of libuv that Bun lacks; use the driver 'thread' or 'manual'";
  return Object.assign(new Error(text), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' });
}

function checkBusyPoll(given: unknown): number {
  const milliseconds = checkMilliseconds('options.busyPoll', given, 0, MAX_POLLING);
  return HAS_LOOP ? milliseconds : 0;
}
