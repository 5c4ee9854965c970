import { checkBytes, checkInteger, checkOptions, namesOf } from '../checks.js';
import type { HmemMemory } from '../device-memory.js';
import { closed, outOfRange } from '../errors.js';
import { lengthOf } from '../views.js';
import { type CudaDmabuf, exportDmabuf } from './dmabuf.js';
import { call, type NativeMemory } from './native.js';

/** Options of {@link allocate}. */
export interface AllocateOptions {
  /** The index of the device. If omitted, 0. */
  readonly device?: number;
}

const OPTION_NAMES = namesOf<AllocateOptions>({ device: 1 });
const MAX_INT = 2 ** 31 - 1;

const collected = new FinalizationRegistry<number>((byteLength) => {
  process.emitWarning(
    `CudaMemory of ${byteLength} bytes was garbage collected before free(). ` +
      'It stays allocated until the process ends.',
    'LibfabricWarning',
  );
});

/**
 * Allocates memory of a CUDA device, in its primary context: cuMemAlloc. Its content is undefined.
 *
 * @throws TypeError, RangeError for wrong arguments. Error ERR_CUDA_NOT_FOUND, ERR_CUDA_TOO_OLD.
 * CudaError CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_DEVICE.
 */
export function allocate(byteLength: number, options: AllocateOptions = {}): CudaMemory {
  checkInteger('byteLength', byteLength, 1);
  const { device = 0 } = checkOptions('options', options, OPTION_NAMES);
  checkInteger('options.device', device, 0, MAX_INT);
  const { handle, pointer } = call((cuda) => cuda.allocate(device, byteLength));
  return new CudaMemory(handle, pointer, byteLength, device);
}

/**
 * Memory of a CUDA device: {@link allocate}. It is device memory for `domain.register()`; for a
 * libfabric without CUDA, register its {@link CudaMemory.dmabuf}.
 *
 * The calls block until the device has done the work. The memory stays allocated until free(), even
 * if nothing references it.
 */
export class CudaMemory implements HmemMemory {
  readonly type = 'cuda';
  /** Bytes. */
  readonly byteLength: number;
  /** The index of the device. */
  readonly device: number;
  readonly #pointer: bigint;
  #handle: NativeMemory | undefined;

  /** @internal */
  constructor(handle: NativeMemory, pointer: bigint, byteLength: number, device: number) {
    this.#handle = handle;
    this.#pointer = pointer;
    this.byteLength = byteLength;
    this.device = device;
    collected.register(this, byteLength, this);
  }

  /**
   * The address on the device.
   *
   * @throws Error ERR_CLOSED after free()
   */
  get pointer(): bigint {
    this.#open();
    return this.#pointer;
  }

  /** Whether the memory was freed. */
  get freed(): boolean {
    return this.#handle === undefined;
  }

  /**
   * Sets the bytes from `start` to `end` to a value: cuMemsetD8.
   *
   * @throws RangeError ERR_OUT_OF_RANGE. Error ERR_CLOSED. CudaError if the driver fails.
   */
  fill(value: number, start = 0, end: number = this.byteLength): void {
    const handle = this.#open();
    checkInteger('value', value, 0, 255);
    checkInteger('start', start, 0, this.byteLength);
    checkInteger('end', end, start, this.byteLength);
    call((cuda) => cuda.fill(handle, value, start, end - start));
  }

  /**
   * Copies bytes of the host into the memory: cuMemcpyHtoD.
   *
   * @throws TypeError, RangeError for wrong arguments. Error ERR_CLOSED. CudaError if the driver
   * fails.
   */
  write(bytes: ArrayBufferView | ArrayBufferLike, offset = 0): void {
    const handle = this.#open();
    const source = this.#within(bytes, offset);
    call((cuda) => cuda.write(handle, offset, source));
  }

  /**
   * Copies bytes of the memory into `bytes`, as many as it has room for: cuMemcpyDtoH. Returns
   * `bytes`.
   *
   * @throws TypeError, RangeError for wrong arguments. Error ERR_CLOSED. CudaError if the driver
   * fails.
   */
  read<T extends ArrayBufferView | ArrayBufferLike>(bytes: T, offset = 0): T {
    const handle = this.#open();
    const target = this.#within(bytes, offset);
    call((cuda) => cuda.read(handle, offset, target));
    return bytes;
  }

  /**
   * Exports the memory as a dmabuf: {@link exportDmabuf}.
   *
   * @throws Error ERR_CLOSED after free(). CudaError if the driver cannot export it.
   */
  dmabuf(): CudaDmabuf {
    return exportDmabuf(this);
  }

  /**
   * Frees the memory: cuMemFree. Close the regions that use it before. Does nothing if it was freed.
   *
   * @throws CudaError if the driver fails; the memory is then still allocated.
   */
  free(): void {
    const handle = this.#handle;
    if (handle === undefined) return;
    call((cuda) => cuda.free(handle));
    this.#handle = undefined;
    collected.unregister(this);
  }

  /** free() */
  [Symbol.dispose](): void {
    this.free();
  }

  #open(): NativeMemory {
    if (this.#handle === undefined) throw closed('CudaMemory');
    return this.#handle;
  }

  #within(value: unknown, offset: number): Uint8Array {
    const bytes = checkBytes('bytes', value);
    checkInteger('offset', offset, 0, this.byteLength);
    const length = lengthOf(bytes);
    if (length > this.byteLength - offset) {
      const expected = `at most ${this.byteLength - offset} bytes from offset ${offset} on`;
      throw outOfRange('bytes.byteLength', expected, length);
    }
    return bytes;
  }
}
