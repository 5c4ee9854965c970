import { constants } from 'node:os';
import { checkSignal } from '../base/abort-signals.js';
import type { Reader } from '../base/arrivals.js';
import {
  checkInteger,
  checkMilliseconds,
  checkOptions,
  checkString,
  namesOf,
} from '../base/checks.js';
import { withJson } from '../base/describe.js';
import { samples } from '../base/samples.js';
import { portNumbers } from '../base/sysfs.js';
import { CounterMeter } from './counter-meter.js';
import { VerbsError } from './errors.js';
import { findFolders } from './find.js';

/** Counters by their names in sysfs: `tx_bytes`, `rx_drops`, `port_xmit_data`. */
export type Counters<Value = bigint> = Readonly<Record<string, Value>>;

/** The port whose counters are read. */
export interface CountersOptions {
  /** The port number, from 1. If omitted, 1. */
  readonly port?: number;
}

/** The port, interval and end of counters.watch(). */
export interface WatchOptions extends CountersOptions {
  /** Milliseconds between samples. If omitted, 1000. */
  readonly interval?: number;
  /** Ends the iteration, which throws the signal's reason. */
  readonly signal?: AbortSignal;
}

const NAMES = namesOf<CountersOptions>({ port: 1 });
const WATCH_NAMES = namesOf<WatchOptions>({ port: 1, interval: 1, signal: 1 });

/** The counters, and their changes since the previous sample. */
export interface CounterSample {
  readonly at: Date;
  /** They never decrease, even if the driver is reloaded. */
  readonly values: Counters;
  readonly deltas: Counters;
  readonly perSecond: Counters<number>;
}

/**
 * The counters of a device and of one of its ports, from sysfs: `hw_counters` of both, and
 * `ports/N/counters` if the device has the standard ones. AWS documents the counters of an EFA.
 * rdma-core is not needed. With softefa, they are the counters of the node's device, for all
 * processes that use or used it, and up to a second old.
 *
 * @throws VerbsError ENODEV if there is no such device, ENXIO if it has no such port.
 * @throws TypeError ERR_INVALID_ARG_TYPE, RangeError ERR_OUT_OF_RANGE.
 */
export function counters(device: string, options?: CountersOptions): Counters {
  const { port } = checkOptions('options', options, NAMES);
  return flat(meterOf(device, port).read());
}

/**
 * Samples the counters repeatedly while a call of next() waits. The first sample comes after one
 * interval.
 *
 * @throws VerbsError ENODEV if there is no such device, ENXIO if it has no such port.
 * @throws AbortError, or the signal's reason, from next().
 */
counters.watch = (device: string, options?: WatchOptions): Reader<CounterSample> => {
  const { port, interval = 1000, signal } = checkOptions('options', options, WATCH_NAMES);
  checkMilliseconds('options.interval', interval, 1);
  const checked = checkSignal(signal);
  return samples(sampler(meterOf(device, port)), interval, { signal: checked }).reader;
};

/** Returns a function that samples a meter, starting now. */
export function sampler(meter: CounterMeter): () => CounterSample {
  let before = { values: flat(meter.read()), time: performance.now() };
  return () => {
    const [at, time, values] = [new Date(), performance.now(), flat(meter.read())];
    const names = Object.keys(values);
    const seconds = (time - before.time) / 1000;
    const deltas = Object.fromEntries(
      names.map((name) => [name, (values[name] ?? 0n) - (before.values[name] ?? 0n)]),
    );
    const perSecond = Object.fromEntries(
      names.map((name) => [name, Number(deltas[name]) / seconds]),
    );
    before = { values, time };
    return { at, values, deltas: withJson(deltas), perSecond };
  };
}

function flat({ device, port }: ReturnType<CounterMeter['read']>): Counters {
  return withJson({ ...device, ...port });
}

function meterOf(device: string, port: number | undefined): CounterMeter {
  const path = pathOf(checkString('device', device));
  const number = checkInteger('options.port', port ?? 1, 1, 255);
  if (!portNumbers(path).includes(number)) {
    throw new VerbsError(constants.errno.ENXIO, 'counters', `${device} has no port ${number}`);
  }
  return new CounterMeter(path, number);
}

function pathOf(device: string): string {
  const all = findFolders();
  const found = all.find(({ name }) => name === device);
  if (found) return found.path;
  const names = all.map(({ name }) => name).join(', ') || 'none';
  throw new VerbsError(
    constants.errno.ENODEV,
    'counters',
    `there is no RDMA device ${device} (devices: ${names})`,
  );
}
