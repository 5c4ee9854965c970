// deviceMemoryOf(): the arrays and tensors of other libraries.
import koffi from 'koffi';
import { type DeviceMemorySource, type DLTensor, deviceMemoryOf } from 'libfabric';
import { describe, expect, test } from 'vitest';

const ADDRESS = 0x7f12_3456_7000n;

const cudaArray = (more: object = {}) =>
  ({
    __cuda_array_interface__: {
      shape: [3, 5],
      typestr: '<f4',
      data: [ADDRESS, false],
      strides: null,
      version: 3,
      ...more,
    },
  }) as DeviceMemorySource;

const tensor = (more: Partial<DLTensor> = {}): DLTensor => ({
  data: ADDRESS,
  device: { device_type: 2, device_id: 1 },
  dtype: { code: 2, bits: 16, lanes: 1 },
  shape: [4n, 8n],
  strides: null,
  byte_offset: 0n,
  ...more,
});

describe('the CUDA array interface', () => {
  test('gives the address and the bytes', () => {
    const memory = { type: 'cuda', pointer: ADDRESS, byteLength: 60, device: 0 };
    expect(deviceMemoryOf(cudaArray())).toEqual(memory);
    expect(deviceMemoryOf(cudaArray(), { device: 3 })).toEqual({ ...memory, device: 3 });
    const low = cudaArray({ data: [4096, true] });
    expect(deviceMemoryOf(low)).toMatchObject({ pointer: 4096n });
  });

  test.each([
    ['|u1', [], 1],
    ['|b1', [7], 7],
    ['<c16', new BigInt64Array([2n, 3n]), 96],
    ['<U3', [2], 24],
    ['<f8', [2n ** 33n], 2 ** 36],
  ])('elements of type %s', (typestr, shape, byteLength) => {
    expect(deviceMemoryOf(cudaArray({ shape, typestr }))).toMatchObject({ byteLength });
  });

  test('strides of a contiguous array are accepted', () => {
    for (const strides of [[20, 4], [20n, 4n], new BigInt64Array([20n, 4n])]) {
      expect(deviceMemoryOf(cudaArray({ strides }))).toMatchObject({ byteLength: 60 });
    }
  });

  test('the stride of a dimension with one element does not matter', () => {
    const array = cudaArray({ shape: [1, 5], strides: [999, 4] });
    expect(deviceMemoryOf(array)).toMatchObject({ byteLength: 20 });
  });

  const wrong: [string, object, RegExp][] = [
    ['strides of a transposed array', { strides: [4, 12] }, /is not contiguous/],
    ['strides of a reversed array', { shape: [3], strides: [-4] }, /is not contiguous/],
    ['too few strides', { strides: [4] }, /is not contiguous/],
    ['no elements', { shape: [3, 0] }, /without elements/],
    ['a negative length', { shape: [-1] }, /without elements/],
    ['no shape', { shape: undefined }, /shape must be a list of integers/],
    ['a shape that is a text', { shape: '35' }, /shape must be a list of integers/],
    ['half an element', { shape: [0.5] }, /shape\[0\] must be an integer/],
    ['an unknown type', { typestr: 'float' }, /typestr is no type of an element/],
    ['elements of bits', { typestr: '|t4' }, /typestr is no type of an element/],
    ['Python objects', { typestr: '|O8' }, /typestr is no type of an element/],
    ['elements without bytes', { typestr: '|S0' }, /typestr is no type of an element/],
    ['an end past 2^64', { data: [2n ** 64n - 4n, false] }, /ends after the last address/],
    ['no address', { data: [0n, false] }, /data\[0\] is 0/],
    ['data that is no list', { data: ADDRESS }, /data must be a list/],
    ['a wide address', { data: [2n ** 64n, false] }, /data\[0\] must be from 0 to 2\^64 - 1/],
    ['more bytes than a number counts', { shape: [2n ** 60n] }, /is too large/],
  ];
  test.each(wrong)('%s is refused', (_name, more, message) => {
    expect(() => deviceMemoryOf(cudaArray(more))).toThrow(message);
  });
});

describe('DLPack', () => {
  test('gives the device, the address and the bytes', () => {
    const memory = { type: 'cuda', pointer: ADDRESS, byteLength: 64, device: 1 };
    expect(deviceMemoryOf(tensor())).toEqual(memory);
    expect(deviceMemoryOf({ dl_tensor: tensor() })).toEqual(memory);
    expect(deviceMemoryOf(tensor({ byte_offset: 256 }))).toEqual({
      ...memory,
      pointer: ADDRESS + 256n,
    });
    expect(deviceMemoryOf(tensor({ strides: [8n, 1n] }))).toEqual(memory);
  });

  test.each([
    [2, 'cuda'],
    [10, 'rocr'],
    [14, 'ze'],
    [18, 'neuron'],
  ])('device type %i is %s', (device_type, type) => {
    const device = { device_type, device_id: 0 };
    expect(deviceMemoryOf(tensor({ device }))).toMatchObject({ type });
  });

  test('elements of less than a byte are packed', () => {
    const dtype = { code: 0, bits: 4, lanes: 1 };
    expect(deviceMemoryOf(tensor({ dtype, shape: [5] }))).toMatchObject({ byteLength: 3 });
    const lanes = { code: 2, bits: 32, lanes: 4 };
    expect(deviceMemoryOf(tensor({ dtype: lanes, shape: [5] }))).toMatchObject({ byteLength: 80 });
  });

  const device = (device_type: number) => ({ device: { device_type, device_id: 0 } });
  const wrong: [string, Partial<DLTensor>, RegExp][] = [
    ['memory of the host', device(1), /is in memory of the host: register its bytes/],
    ['pinned memory of the host', device(3), /is in memory of the host/],
    ['a device that libfabric does not know', device(8), /device_type is 8, which is none of cuda/],
    ['strides of a transposed tensor', { strides: [1, 4] }, /is not contiguous/],
    ['no address', { data: 0n }, /source.data is 0/],
    ['no bits', { dtype: { code: 0, bits: 0, lanes: 1 } }, /dtype.bits/],
    ['no dtype', { dtype: undefined as never }, /dtype must be an object/],
    ['a negative offset', { byte_offset: -1n }, /byte_offset/],
    ['an offset past 2^64', { byte_offset: 2n ** 64n - 1n }, /ends after the last address/],
    ['a negative device', { device: { device_type: 2, device_id: -1 } }, /device/],
  ];
  test.each(wrong)('%s is refused', (_name, more, message) => {
    expect(() => deviceMemoryOf(tensor(more))).toThrow(message);
  });

  test('what koffi decodes from C', () => {
    koffi.struct('DLDevice', { device_type: 'int32', device_id: 'int32' });
    koffi.struct('DLDataType', { code: 'uint8', bits: 'uint8', lanes: 'uint16' });
    const type = koffi.struct('DLTensor', {
      data: 'void *',
      device: 'DLDevice',
      ndim: 'int32',
      dtype: 'DLDataType',
      shape: koffi.array('int64', 2),
      strides: 'int64 *',
      byte_offset: 'uint64',
    });
    const memory = koffi.alloc(type, 1);
    koffi.encode(memory, type, { ...tensor(), ndim: 2 });
    expect(deviceMemoryOf(koffi.decode(memory, type))).toEqual(deviceMemoryOf(tensor()));
  });
});

describe('onnxruntime', () => {
  const at = (location: string) => ({ location, dims: [2, 3], type: 'float32' });

  test.each(['cpu', 'cpu-pinned'])('a tensor at %s is in memory of the host', (location) => {
    expect(() => deviceMemoryOf(at(location))).toThrow(
      /in memory of the host .* register its data/,
    );
  });

  test.each(['gpu-buffer', 'texture', 'ml-tensor', 'none'])(
    'a tensor at %s has no address',
    (location) => {
      expect(() => deviceMemoryOf(at(location))).toThrow(/gives no address of the device/);
    },
  );
});

test('another value is refused', () => {
  const type = expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' });
  for (const source of [undefined, null, 5n, 'text', {}, [], new Uint8Array(8)]) {
    expect(() => deviceMemoryOf(source as never)).toThrow(type);
  }
});

test('options are checked', () => {
  expect(() => deviceMemoryOf(cudaArray(), { device: -1 })).toThrow(/options.device/);
  expect(() => deviceMemoryOf(cudaArray(), { divice: 0 } as never)).toThrow(
    /did you mean 'device'/,
  );
});
