import { checkInteger, oneOf } from '../base/checks.js';
import { describes, uncloneable } from '../base/describe.js';
import { closed, invalidArgType, invalidThis, outOfRange } from '../base/errors.js';
import {
  type DmabufMemory,
  type HmemMemory,
  type HmemType,
  MAX_INT,
} from '../memory/device-memory.js';
import type { CallOf, NativeDmabuf, NativeMemory } from './native.js';

const UNCLONEABLE = uncloneable(
  'a Dmabuf belongs to its thread: send its { type, fd, offset, byteLength }',
);

/** The result of exportRange(), for the constructor. */
export interface Exported extends NativeDmabuf {
  readonly call: CallOf<NativeMemory>;
  readonly byteLength: number;
}

const unused = new WeakSet<Exported>();

const collected = new FinalizationRegistry<string>((dmabuf) => {
  process.emitWarning(
    `${dmabuf} was garbage collected before close(). Its descriptor stays open until the process ends.`,
    'LibfabricWarning',
  );
});

/**
 * A dmabuf of an accelerator's memory, for `domain.register()`. Its descriptor is open until close(),
 * which may be called as soon as register() has returned its promise. Child processes do not inherit
 * it. A worker that ends closes its descriptors.
 */
export class Dmabuf implements DmabufMemory {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly type = 'dmabuf';
  /** Offset of the memory in the dmabuf, in bytes. */
  readonly offset: number;
  /** Bytes. */
  readonly byteLength: number;
  #exported: Exported | undefined;

  /** @internal */
  constructor(exported: Exported) {
    if (!unused.delete(exported)) throw invalidArgType('dmabuf', 'of dmabuf()', exported);
    this.#exported = exported;
    this.offset = exported.offset;
    this.byteLength = exported.byteLength;
    collected.register(this, `A Dmabuf of ${exported.byteLength} bytes`, this);
  }

  /**
   * The file descriptor.
   *
   * @throws Error ERR_CLOSED
   */
  get fd(): number {
    const exported = Dmabuf.#own(this).#exported;
    if (exported === undefined) throw closed('Dmabuf');
    return exported.fd;
  }

  /** Closes the descriptor. Regions that were registered with it stay valid. */
  close(): void {
    const exported = Dmabuf.#own(this).#exported;
    if (exported === undefined) return;
    this.#exported = undefined;
    collected.unregister(this);
    exported.call((addon) => addon.closeDmabuf(exported.handle));
  }

  /** close() */
  [Symbol.dispose](): void {
    Dmabuf.#own(this).close();
  }

  static {
    describes('Dmabuf', Dmabuf, (dmabuf) => ({
      offset: dmabuf.offset,
      byteLength: dmabuf.byteLength,
      closed: dmabuf.#exported === undefined,
    }));
  }

  static #own(dmabuf: unknown): Dmabuf {
    if (typeof dmabuf === 'object' && dmabuf !== null && #exported in dmabuf) return dmabuf;
    throw invalidThis('a Dmabuf');
  }
}

/** Checks the argument of an exportDmabuf(), and reads each member once. */
export function checkExported(memory: HmemMemory, type: HmemType) {
  if (typeof memory !== 'object' || memory === null) {
    throw invalidArgType('memory', `memory of type '${type}'`, memory);
  }
  oneOf('memory.type', memory.type, [type]);
  return {
    pointer: checkPointer('memory.pointer', memory.pointer),
    byteLength: checkInteger('memory.byteLength', memory.byteLength, 1),
    device: checkInteger('memory.device', memory.device, 0, MAX_INT),
  };
}

/** Exports a range that was checked. */
export function exportRange(
  call: CallOf<NativeMemory>,
  { pointer, byteLength, device }: ReturnType<typeof checkExported>,
): Dmabuf {
  const dmabuf = call((addon) => addon.exportDmabuf(device, pointer, byteLength));
  const exported = { ...dmabuf, call, byteLength };
  unused.add(exported);
  return new Dmabuf(exported);
}

/** Checks for an address. */
export function checkPointer(name: string, pointer: unknown): bigint {
  if (typeof pointer !== 'bigint') throw invalidArgType(name, 'a bigint', pointer);
  if (pointer < 0n || pointer >= 2n ** 64n) throw outOfRange(name, 'from 0 to 2^64 - 1', pointer);
  return pointer;
}
