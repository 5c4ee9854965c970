import { checkBytes, checkInteger, checkOptions, namesOf } from '../base/checks.js';
import { describes, uncloneable } from '../base/describe.js';
import { closed, invalidArgType, invalidState, invalidThis, outOfRange } from '../base/errors.js';
import { lengthOf } from '../base/views.js';
import { type HmemMemory, type HmemType, MAX_INT } from '../memory/device-memory.js';
import type { Dmabuf } from './dmabuf.js';
import type { CallOf, NativeHandle, NativeMemory } from './native.js';

const UNCLONEABLE = uncloneable(
  'memory of an accelerator belongs to its thread: send its { type, pointer, byteLength, device }',
);

/** Options of `allocate()`. */
export interface AllocateOptions {
  /** The index of the device. If omitted, 0. */
  readonly device?: number;
}

/** A kind of memory. */
export interface MemoryKind {
  /** The name of the class. */
  readonly name: string;
  readonly call: CallOf<NativeMemory>;
  readonly exportDmabuf: (memory: HmemMemory) => Dmabuf;
}

/** The result of allocateOn(), for the constructor of the class. */
export interface Allocated {
  readonly kind: MemoryKind;
  readonly handle: NativeHandle;
  readonly pointer: bigint;
  readonly byteLength: number;
  readonly device: number;
}

const OPTION_NAMES = namesOf<AllocateOptions>({ device: 1 });

const unused = new WeakSet<Allocated>();

const collected = new FinalizationRegistry<string>((memory) => {
  process.emitWarning(
    `${memory} was garbage collected before free(). It stays allocated until the process ends.`,
    'LibfabricWarning',
  );
});

/** Checks the arguments of an allocate(), and allocates. */
export function allocateOn(
  kind: MemoryKind,
  byteLength: number,
  options: AllocateOptions,
): Allocated {
  checkInteger('byteLength', byteLength, 1);
  const { device = 0 } = checkOptions('options', options, OPTION_NAMES);
  checkInteger('options.device', device, 0, MAX_INT);
  const { handle, pointer } = kind.call((addon) => addon.allocate(device, byteLength));
  const allocated = { kind, handle, pointer, byteLength, device };
  unused.add(allocated);
  return allocated;
}

/**
 * Memory of an accelerator. It is device memory for `domain.register()`, by FI_HMEM; for a libfabric
 * that was built without the device, register its dmabuf.
 *
 * The calls block until the device has done the work. The memory stays allocated until free(), even
 * if nothing references it. A worker that ends frees its memory, except memory that is still registered by
 * its pointer.
 */
export abstract class AcceleratorMemory implements HmemMemory {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** For `domain.register()`. */
  abstract readonly type: HmemType;
  /** Bytes. */
  readonly byteLength: number;
  /** The index of the device. */
  readonly device: number;
  readonly #pointer: bigint;
  readonly #kind: MemoryKind;
  #handle: NativeHandle | undefined;

  /** @internal */
  constructor(allocated: Allocated) {
    if (!unused.delete(allocated)) throw invalidArgType('memory', 'of allocate()', allocated);
    const { kind, handle, pointer, byteLength, device } = allocated;
    this.#kind = kind;
    this.#handle = handle;
    this.#pointer = pointer;
    this.byteLength = byteLength;
    this.device = device;
    collected.register(this, `${kind.name} of ${byteLength} bytes`, this);
  }

  /**
   * The address on the device.
   *
   * @throws Error ERR_CLOSED after free()
   */
  get pointer(): bigint {
    AcceleratorMemory.#open(this);
    return this.#pointer;
  }

  /** Whether the memory was freed. */
  get freed(): boolean {
    return AcceleratorMemory.#own(this).#handle === undefined;
  }

  /**
   * Sets the bytes from `start` to `end` to a value. If `end` is omitted, all bytes from `start` on.
   *
   * @throws RangeError ERR_OUT_OF_RANGE. Error ERR_CLOSED. AcceleratorError if the device fails.
   */
  fill(value: number, start = 0, end?: number): void {
    const handle = AcceleratorMemory.#open(this);
    const stop = end === undefined ? this.byteLength : end;
    checkInteger('value', value, 0, 255);
    checkInteger('start', start, 0, this.byteLength);
    checkInteger('end', stop, start, this.byteLength);
    this.#kind.call((addon) => addon.fill(handle, value, start, stop - start));
  }

  /**
   * Copies bytes of the host into the memory.
   *
   * @throws TypeError, RangeError for wrong arguments. Error ERR_CLOSED. AcceleratorError if the
   * device fails.
   */
  write(bytes: ArrayBufferView | ArrayBufferLike, offset = 0): void {
    const handle = AcceleratorMemory.#open(this);
    const source = this.#within(bytes, offset);
    this.#kind.call((addon) => addon.write(handle, offset, source));
  }

  /**
   * Copies bytes of the memory into `bytes`, as many as it has room for. Returns `bytes`.
   *
   * @throws TypeError, RangeError for wrong arguments. Error ERR_CLOSED. AcceleratorError if the
   * device fails.
   */
  read<T extends ArrayBufferView | ArrayBufferLike>(bytes: T, offset = 0): T {
    const handle = AcceleratorMemory.#open(this);
    const target = this.#within(bytes, offset);
    this.#kind.call((addon) => addon.read(handle, offset, target));
    return bytes;
  }

  /**
   * Exports the memory as a dmabuf: exportDmabuf().
   *
   * @throws Error ERR_CLOSED after free(). AcceleratorError if the memory cannot be exported.
   */
  dmabuf(): Dmabuf {
    AcceleratorMemory.#open(this);
    return this.#kind.exportDmabuf(this);
  }

  /**
   * Frees the memory. Does nothing if it was freed. The regions of its dmabufs may stay open.
   *
   * @throws Error ERR_INVALID_STATE while the memory is registered by its pointer: the provider may
   * copy it until the region is closed. AcceleratorError if the device fails. The memory is then
   * still allocated.
   */
  free(): void {
    const handle = AcceleratorMemory.#own(this).#handle;
    if (handle === undefined) return;
    if (this.#kind.call((addon) => addon.isInUse(handle))) {
      throw invalidState(
        `the ${this.#kind.name} is registered by its pointer: close its regions first`,
      );
    }
    this.#kind.call((addon) => addon.free(handle));
    this.#handle = undefined;
    collected.unregister(this);
  }

  /** free() */
  [Symbol.dispose](): void {
    AcceleratorMemory.#own(this).free();
  }

  static {
    const nameOf = (memory: AcceleratorMemory) =>
      #kind in memory ? memory.#kind.name : 'AcceleratorMemory';
    describes(nameOf, AcceleratorMemory, ({ byteLength, device, freed }) => ({
      byteLength,
      device,
      freed,
    }));
  }

  static #own(memory: unknown): AcceleratorMemory {
    if (typeof memory === 'object' && memory !== null && #handle in memory) return memory;
    throw invalidThis('memory of allocate()');
  }

  static #open(memory: unknown): NativeHandle {
    const own = AcceleratorMemory.#own(memory);
    if (own.#handle === undefined) throw closed(own.#kind.name);
    return own.#handle;
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
