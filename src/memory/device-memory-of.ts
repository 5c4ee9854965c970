import { check64, checkInteger, checkOptions, checkString, namesOf } from '../base/checks.js';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import { isArray, isRevoked } from '../base/objects.js';
import { type HmemMemory, type HmemType, MAX_INT } from './device-memory.js';

/** A list of integers, such as the shape of an array. */
export type Integers = ArrayLike<number | bigint>;

/** The CUDA array interface of Numba, CuPy, PyTorch and others, as an object of JavaScript. */
export interface CudaArrayInterface {
  readonly shape: Integers;
  /** The type of an element: `'<f4'`. */
  readonly typestr: string;
  /** The address, and whether the array is read-only. */
  readonly data: readonly [pointer: bigint | number, readOnly: boolean];
  /** Bytes from one element to the next, for each dimension. */
  readonly strides?: Integers | null;
}

/** An object with the CUDA array interface. */
export interface CudaArray {
  readonly __cuda_array_interface__: CudaArrayInterface;
}

/** A `DLTensor` of dlpack.h, with the names of its members in C. */
export interface DLTensor {
  readonly data: bigint | number;
  readonly device: { readonly device_type: number; readonly device_id: number };
  readonly dtype: { readonly code: number; readonly bits: number; readonly lanes: number };
  readonly shape: Integers;
  /** Elements from one element to the next, for each dimension. */
  readonly strides?: Integers | null;
  readonly byte_offset: bigint | number;
}

/** A `DLManagedTensor` or `DLManagedTensorVersioned` of dlpack.h. */
export interface DLManagedTensor {
  readonly dl_tensor: DLTensor;
}

/** A `Tensor` of onnxruntime-common: onnxruntime-node. */
export interface OnnxTensor {
  readonly location: string;
  readonly dims: Integers;
}

/** The objects that {@link deviceMemoryOf} takes. */
export type DeviceMemorySource = CudaArray | DLManagedTensor | DLTensor | OnnxTensor;

/** Options of {@link deviceMemoryOf}. */
export interface DeviceMemoryOptions {
  /** The index of the device. The CUDA array interface does not contain it. If omitted, 0. */
  readonly device?: number;
}

const OPTION_NAMES = namesOf<DeviceMemoryOptions>({ device: 1 });

// enum DLDeviceType of dlpack.h
const DLPACK_TYPES: Readonly<Record<number, HmemType>> = {
  2: 'cuda',
  10: 'rocr',
  14: 'ze',
  18: 'neuron',
};
const DLPACK_HOST = [1, 3, 11]; // the host's memory, also as pinned for CUDA or ROCm

/**
 * The memory of an array or tensor of another library, for `domain.register()`. Its elements must be
 * contiguous, in the order of C.
 *
 * The array must not be freed while its memory is registered.
 *
 * @throws TypeError ERR_INVALID_ARG_VALUE if the source has no address on a device, or its elements
 * are not contiguous. ERR_INVALID_ARG_TYPE for another object. RangeError ERR_OUT_OF_RANGE.
 */
export function deviceMemoryOf(
  source: DeviceMemorySource,
  options: DeviceMemoryOptions = {},
): HmemMemory {
  const { device } = checkOptions('options', options, OPTION_NAMES);
  if (typeof source !== 'object' || source === null || isRevoked(source)) throw notASource(source);
  if ('__cuda_array_interface__' in source) return ofCudaArray(source, device);
  if ('dl_tensor' in source) return ofTensor('source.dl_tensor', source.dl_tensor, device);
  if ('dtype' in source && 'device' in source) return ofTensor('source', source, device);
  if ('location' in source && 'dims' in source) throw notOnDevice(source);
  throw notASource(source);
}

const notASource = (source: unknown) =>
  invalidArgType('source', "an object with '__cuda_array_interface__', or a DLTensor", source);

function notOnDevice({ location }: OnnxTensor): Error {
  const where = String(location);
  if (where.startsWith('cpu')) {
    return invalidArgValue('source', `is in memory of the host (${where}): register its data`);
  }
  const why = 'onnxruntime gives no address of the device for it: copy it to the host';
  return invalidArgValue('source', `is at '${where}', and ${why}`);
}

function ofCudaArray(source: CudaArray, device: number | undefined): HmemMemory {
  const name = 'source.__cuda_array_interface__';
  const { shape, typestr, data, strides } = checkMember(name, source.__cuda_array_interface__);
  const size = sizeOf(`${name}.typestr`, typestr);
  if (!isArray(data)) throw invalidArgType(`${name}.data`, 'a list', data);
  const lengths = integers(`${name}.shape`, shape);
  const count = contiguous(name, lengths, strides, BigInt(size));
  return memoryAt('cuda', `${name}.data[0]`, data[0], 0n, count * BigInt(size), device ?? 0);
}

function ofTensor(name: string, tensor: DLTensor, given: number | undefined): HmemMemory {
  const { data, device, dtype, shape, strides, byte_offset: offset } = checkMember(name, tensor);
  const { device_type: type, device_id: id } = checkMember(`${name}.device`, device);
  const { bits, lanes } = checkMember(`${name}.dtype`, dtype);
  if (DLPACK_HOST.includes(type)) {
    throw invalidArgValue(name, 'is in memory of the host: register its bytes');
  }
  const kind = DLPACK_TYPES[type];
  if (kind === undefined) {
    const known = Object.values(DLPACK_TYPES).join(', ');
    throw invalidArgValue(`${name}.device.device_type`, `is ${type}, which is none of ${known}`);
  }
  checkInteger(`${name}.dtype.bits`, bits, 1, 255);
  checkInteger(`${name}.dtype.lanes`, lanes, 1, 65_535);
  const count = contiguous(name, integers(`${name}.shape`, shape), strides, 1n);
  const bytes = (count * BigInt(bits * lanes) + 7n) / 8n;
  const skipped = BigInt(check64(`${name}.byte_offset`, offset));
  return memoryAt(kind, `${name}.data`, data, skipped, bytes, given ?? id);
}

function checkMember<T extends object>(name: string, value: T): T {
  if (typeof value !== 'object' || value === null) throw invalidArgType(name, 'an object', value);
  return value;
}

// The types of NumPy's array interface whose size is in bytes: not those of bits, and not Python objects.
const ELEMENT = /^[<>|=]?([biufcmMSUV])([1-9]\d{0,8})$/;

/** The bytes of an element: `'<f4'`. */
function sizeOf(name: string, typestr: string): number {
  const [, kind, size] = ELEMENT.exec(checkString(name, typestr)) ?? [];
  if (kind === undefined) throw invalidArgValue(name, "is no type of an element, such as '<f4'");
  return Number(size) * (kind === 'U' ? 4 : 1);
}

function integers(name: string, list: Integers): bigint[] {
  const isList = isArray(list) || (ArrayBuffer.isView(list) && 'length' in list);
  if (!isList) throw invalidArgType(name, 'a list of integers', list);
  return Array.from(list, (each, i) => {
    if (typeof each === 'bigint') return each;
    return BigInt(checkInteger(`${name}[${i}]`, each, Number.MIN_SAFE_INTEGER));
  });
}

/** The number of elements. Refuses elements that do not follow each other, `step` units apart. */
function contiguous(
  name: string,
  shape: readonly bigint[],
  given: Integers | null | undefined,
  step: bigint,
): bigint {
  const strides = given == null ? undefined : integers(`${name}.strides`, given);
  let count = 1n;
  for (let i = shape.length - 1; i >= 0; i--) {
    const length = shape[i] as bigint;
    if (length < 1n) throw invalidArgValue(`${name}.shape`, 'is that of an array without elements');
    const stride = strides === undefined ? count * step : strides[i];
    if (length > 1n && stride !== count * step) {
      throw invalidArgValue(
        name,
        'is not contiguous: copy it, or register the array that it is a part of',
      );
    }
    count *= length;
  }
  return count;
}

function memoryAt(
  type: HmemType,
  name: string,
  data: bigint | number,
  offset: bigint,
  bytes: bigint,
  device: number,
): HmemMemory {
  const address = BigInt(check64(name, data));
  if (address === 0n) throw invalidArgValue(name, 'is 0');
  if (bytes > BigInt(Number.MAX_SAFE_INTEGER)) throw invalidArgValue('source', 'is too large');
  if (address + offset + bytes > 2n ** 64n) {
    throw invalidArgValue('source', 'ends after the last address');
  }
  checkInteger('options.device', device, 0, MAX_INT);
  return { type, pointer: address + offset, byteLength: Number(bytes), device };
}
