import { check64, checkInteger } from '../base/checks.js';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import { isArray } from '../base/objects.js';
import type { NativeByte, NativeRoundEvents } from '../contract/native.js';
import { Counter } from '../counter.js';
import { type Memory, RegisteredBytes } from '../engine/memory.js';
import type { MemoryRegion, RegionSlice } from '../memory/memory-region.js';

/** A byte of registered memory. Its value increases by 1 with each round, modulo 256. */
export interface RoundByte {
  /** The region or slice whose first byte is used. */
  readonly byte: MemoryRegion | RegionSlice;
  /** The value in the first round, 0 to 255. */
  readonly value: number;
}

/** A counter of the same domain and the threshold that it must reach: fi_cntr_wait(3). */
export interface RoundCounter {
  readonly counter: Counter;
  /** The threshold of the first round. */
  readonly threshold: bigint | number;
  /** The amount that each further round adds to the threshold. If omitted, 1. */
  readonly step?: bigint | number;
}

/** Remote writes with data that arrive at the endpoint's receive queue, with any data. */
export interface RoundImmediates {
  /** The number of arrivals that each round consumes. */
  readonly immediates: number;
}

/** An event that a round waits for in addition to its own operations. */
export type RoundEvent = RoundByte | RoundCounter | RoundImmediates;

/** The byte that each round of a batch sets, and the events that it waits for. */
export interface RoundEventOptions {
  /**
   * A byte that the engine sets before it posts a round's operations. A peer that receives this
   * byte can tell the rounds apart.
   */
  readonly mark?: RoundByte;
  /**
   * The events that complete a round, in addition to its operations. All of them must be true at
   * the same time. The engine checks them at each turn.
   */
  readonly until?: RoundEvent | readonly RoundEvent[];
}

/** Checks the options. Returns undefined if they contain none of these. */
export function checkRoundEvents(
  { mark, until }: RoundEventOptions,
  memory: Memory,
): NativeRoundEvents | undefined {
  if (mark === undefined && until === undefined) return undefined;
  const bytes: NativeByte[] = [];
  const thresholds: [Counter['bound']['handle'], bigint | number, bigint | number][] = [];
  let immediates = 0;
  const events = isArray(until) ? until : until === undefined ? [] : [until];
  for (const event of events as readonly Partial<RoundByte & RoundCounter & RoundImmediates>[]) {
    if (typeof event !== 'object' || event === null) {
      throw invalidArgType('options.until', 'an object or a list of them', event);
    }
    const { byte, counter, threshold, step = 1, immediates: arrivals } = event;
    if (byte !== undefined) bytes.push(locateByte('options.until', event as RoundByte, memory));
    else if (counter !== undefined) {
      if (!Counter.is(counter)) throw invalidArgType('options.until.counter', 'a Counter', counter);
      check64('options.until.threshold', threshold as bigint | number);
      check64('options.until.step', step);
      thresholds.push([counter.bound.handle, threshold as bigint | number, step]);
    } else if (arrivals !== undefined) {
      immediates += checkInteger('options.until.immediates', arrivals, 1);
    } else throw invalidArgValue('options.until', 'names no byte, counter or immediates');
  }
  const marks = mark === undefined ? [] : [locateByte('options.mark', mark, memory)];
  return { marks, bytes, thresholds, immediates };
}

function locateByte(name: string, place: RoundByte, memory: Memory): NativeByte {
  if (typeof place !== 'object' || place === null) throw invalidArgType(name, 'an object', place);
  const { byte, value } = place;
  if (!RegisteredBytes.is(byte)) {
    throw invalidArgType(`${name}.byte`, 'a MemoryRegion or a slice of one', byte);
  }
  if (byte.deviceAccess !== undefined) throw invalidArgValue(`${name}.byte`, 'is on a device');
  if (byte.length === 0) throw invalidArgValue(`${name}.byte`, 'has no bytes');
  const { handle, offset } = memory.locate(byte, `${name}.byte`);
  return [handle, offset, checkInteger(`${name}.value`, value, 0, 255)];
}
