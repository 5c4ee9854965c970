import { check64, checkInteger, checkString } from '../base/checks.js';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import type { NativeOption } from '../contract/native.js';
import {
  type EndpointOption,
  endpointOptions,
  type OptionSpec,
  type OptionValue,
  type WritableOption,
} from './endpoint-options.js';

/** The options to set, by name. */
export type WritableOptions = { readonly [K in WritableOption]?: OptionValue<K> };

const SIZES: Record<OptionSpec['type'], number> = { size: 8, int: 4, bool: 1, u16: 2, u32: 4 };

function specOf(name: EndpointOption): OptionSpec {
  checkString('option', name);
  const spec: OptionSpec | undefined = Object.hasOwn(endpointOptions, name)
    ? endpointOptions[name]
    : undefined;
  if (spec === undefined) throw invalidArgValue('option', `'${String(name)}' is not known`);
  return spec;
}

/** Encodes an option for fi_setopt. */
export function encodeOption(name: EndpointOption, value: unknown): NativeOption {
  const spec = specOf(name);
  if (spec.access === 'r') throw invalidArgValue('option', `${name} can only be read`);
  const bytes = new Uint8Array(SIZES[spec.type]);
  const view = new DataView(bytes.buffer);
  switch (spec.type) {
    case 'bool':
      if (typeof value !== 'boolean') throw invalidArgType(name, 'a boolean', value);
      view.setUint8(0, value ? 1 : 0);
      break;
    case 'size':
      view.setBigUint64(0, BigInt(check64(name, value)), true);
      break;
    case 'int':
      view.setInt32(0, checkInteger(name, value, -(2 ** 31), 2 ** 31 - 1), true);
      break;
    case 'u16':
      view.setUint16(0, checkInteger(name, value, 0, 0xffff), true);
      break;
    case 'u32':
      view.setUint32(0, checkInteger(name, value, 0, 0xffff_ffff), true);
      break;
  }
  return { level: spec.level, name: spec.name, value: bytes };
}

/** Decodes an option of fi_getopt. Sizes are numbers; sizes past 2^53 are Infinity. */
export function decodeOption(
  name: EndpointOption,
  read: (level: number, name: number, size: number) => Uint8Array,
): number | boolean {
  const spec = specOf(name);
  if (spec.access === 'w') throw invalidArgValue('option', `${name} can only be set`);
  const bytes = new Uint8Array(8);
  bytes.set(read(spec.level, spec.name, SIZES[spec.type]));
  const view = new DataView(bytes.buffer);
  switch (spec.type) {
    case 'bool':
      return view.getUint8(0) !== 0;
    case 'size': {
      const size = view.getBigUint64(0, true);
      return size > BigInt(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(size);
    }
    case 'int':
      return view.getInt32(0, true);
    case 'u16':
      return view.getUint16(0, true);
    case 'u32':
      return view.getUint32(0, true);
  }
}
