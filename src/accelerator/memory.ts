import { checkBytes, checkInteger, checkOptions, namesOf } from '../checks.js';
import type { HmemMemory, HmemType } from '../device-memory.js';
import { closed, outOfRange } from '../errors.js';
import { lengthOf } from '../views.js';
import type { Dmabuf } from './dmabuf.js';
import type { CallOf, NativeHandle, NativeMemory } from './native.js';

/** Options of `allocate()`. */
export interface AllocateOptions {
  /** The index of the device. If omitted, 0. */
  readonly device?: number;
}

/** What allocateOn() needs to know to make memory. @internal */
export interface Allocated {
  /** The name of the class. */
  readonly name: string;
  readonly call: CallOf<NativeMemory>;
  readonly handle: NativeHandle;
  readonly pointer: bigint;
  readonly byteLength: number;
  readonly device: number;
}

const OPTION_NAMES = namesOf<AllocateOptions>({ device: 1 });
const MAX_INT = 2 ** 31 - 1;

const collected = new FinalizationRegistry<string>((memory) => {
  process.emitWarning(
    `${memory} was garbage collected before free(). It stays allocated until the process ends.`,
    'LibfabricWarning',
  );
});

/** Checks the arguments of an allocate(), and allocates. @internal */
export function allocateOn(
  name: string,
  call: CallOf<NativeMemory>,
  byteLength: number,
  options: AllocateOptions,
): Allocated {
  checkInteger('byteLength', byteLength, 1);
  const { device = 0 } = checkOptions('options', options, OPTION_NAMES);
  checkInteger('options.device', device, 0, MAX_INT);
  const { handle, pointer } = call((addon) => addon.allocate(device, byteLength));
  return { name, call, handle, pointer, byteLength, device };
}

/**
 * Memory of an accelerator. It is device memory for `domain.register()`, by FI_HMEM; for a libfabric
 * that was built without the device, register its dmabuf.
 *
 * The calls block until the device has done the work. The memory stays allocated until free(), even
 * if nothing references it.
 */
export abstract class AcceleratorMemory implements HmemMemory {
  /** For `domain.register()`. */
  abstract readonly type: HmemType;
  /** Bytes. */
  readonly byteLength: number;
  /** The index of the device. */
  readonly device: number;
  readonly #pointer: bigint;
  readonly #name: string;
  readonly #call: CallOf<NativeMemory>;
  #handle: NativeHandle | undefined;

  /** @internal */
  constructor({ name, call, handle, pointer, byteLength, device }: Allocated) {
    this.#name = name;
    this.#call = call;
    this.#handle = handle;
    this.#pointer = pointer;
    this.byteLength = byteLength;
    this.device = device;
    collected.register(this, `${name} of ${byteLength} bytes`, this);
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
   * Sets the bytes from `start` to `end` to a value.
   *
   * @throws RangeError ERR_OUT_OF_RANGE. Error ERR_CLOSED. AcceleratorError if the device fails.
   */
  fill(value: number, start = 0, end: number = this.byteLength): void {
    const handle = this.#open();
    checkInteger('value', value, 0, 255);
    checkInteger('start', start, 0, this.byteLength);
    checkInteger('end', end, start, this.byteLength);
    this.#call((addon) => addon.fill(handle, value, start, end - start));
  }

  /**
   * Copies bytes of the host into the memory.
   *
   * @throws TypeError, RangeError for wrong arguments. Error ERR_CLOSED. AcceleratorError if the
   * device fails.
   */
  write(bytes: ArrayBufferView | ArrayBufferLike, offset = 0): void {
    const handle = this.#open();
    const source = this.#within(bytes, offset);
    this.#call((addon) => addon.write(handle, offset, source));
  }

  /**
   * Copies bytes of the memory into `bytes`, as many as it has room for. Returns `bytes`.
   *
   * @throws TypeError, RangeError for wrong arguments. Error ERR_CLOSED. AcceleratorError if the
   * device fails.
   */
  read<T extends ArrayBufferView | ArrayBufferLike>(bytes: T, offset = 0): T {
    const handle = this.#open();
    const target = this.#within(bytes, offset);
    this.#call((addon) => addon.read(handle, offset, target));
    return bytes;
  }

  /**
   * Exports the memory as a dmabuf: exportDmabuf().
   *
   * @throws Error ERR_CLOSED after free(). AcceleratorError if the memory cannot be exported.
   */
  abstract dmabuf(): Dmabuf;

  /**
   * Frees the memory. Close the regions that use it before. Does nothing if it was freed.
   *
   * @throws AcceleratorError if the device fails; the memory is then still allocated.
   */
  free(): void {
    const handle = this.#handle;
    if (handle === undefined) return;
    this.#call((addon) => addon.free(handle));
    this.#handle = undefined;
    collected.unregister(this);
  }

  /** free() */
  [Symbol.dispose](): void {
    this.free();
  }

  #open(): NativeHandle {
    if (this.#handle === undefined) throw closed(this.#name);
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
