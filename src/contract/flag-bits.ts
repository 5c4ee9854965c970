import { invalidArgType, invalidArgValue } from '../base/errors.js';
import type { CompletionFlag, OpFlag } from '../base/flags.js';
import { isArray } from '../base/objects.js';
import { native } from './native.js';

const completionNames = new Map<string, readonly CompletionFlag[]>();

const SEARCHING: readonly OpFlag[] = ['FI_PEEK', 'FI_CLAIM', 'FI_DISCARD'];
// Providers interpret other bits as features that this package does not use, or that have calls of
// their own. Some providers crash on them.
const ALLOWED: readonly OpFlag[] = [
  'FI_MORE',
  'FI_FENCE',
  'FI_PRIORITY',
  'FI_COMPLETION',
  'FI_INJECT',
  'FI_INJECT_COMPLETE',
  'FI_TRANSMIT_COMPLETE',
  'FI_DELIVERY_COMPLETE',
  'FI_AFFINITY',
  'FI_COMMIT_COMPLETE',
  'FI_MATCH_COMPLETE',
  ...SEARCHING,
];

interface OpFlags {
  readonly bits: ReadonlyMap<string, bigint>;
  readonly allowed: bigint;
  readonly searching: bigint;
}

let known: OpFlags | undefined;

function opFlags(): OpFlags {
  known ??= readOpFlags();
  return known;
}

function readOpFlags(): OpFlags {
  const bits = new Map(Object.entries(native.nameTables().flags.op as Record<string, bigint>));
  const maskOf = (names: readonly OpFlag[]) =>
    names.reduce((mask, name) => mask | (bits.get(name) ?? 0n), 0n);
  return {
    bits,
    allowed: maskOf(ALLOWED),
    searching: maskOf(SEARCHING),
  };
}

/** Whether an operation's flags contain this flag. */
export function hasFlag(bits: bigint | number, flag: OpFlag): boolean {
  return bits !== 0 && (BigInt(bits) & (opFlags().bits.get(flag) ?? 0n)) !== 0n;
}

/** The bits of an operation's flags. Without flags it is the number 0, not a bigint. */
export function opFlagBits(flags: unknown, searches: boolean, own: bigint): bigint | number {
  if (flags === undefined) return 0;
  if (!isArray(flags)) {
    throw invalidArgType('options.flags', 'an array of flag names', flags);
  }
  const { bits: bitsOf, allowed, searching } = opFlags();
  let bits = 0n;
  for (const name of flags) {
    // The addon knows alternative spellings, and throws the error for an unknown name.
    bits |= bitsOf.get(name) ?? native.bitsFromNames('op', [name]);
  }
  const refused = bits & ~(allowed | own);
  if (refused !== 0n) {
    throw invalidArgValue('options.flags', `cannot have ${nameOf(refused)} here`);
  }
  if (!searches && (bits & searching) !== 0n) {
    throw invalidArgValue(
      'options.flags',
      `has ${nameOf(bits & searching)}, which only trecv takes`,
    );
  }
  return bits === 0n ? 0 : bits;
}

function nameOf(bits: bigint): string {
  return native.namesFromBits('op', bits)[0] as string;
}

/** The names of a completion's flags, from its two halves. */
export function completionFlagNames(low: number, high: number): readonly CompletionFlag[] {
  const key = `${high}:${low}`;
  let names = completionNames.get(key);
  if (names === undefined) {
    const bits = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
    names = native.namesFromBits('completion', bits) as readonly CompletionFlag[];
    completionNames.set(key, names);
  }
  return names;
}
