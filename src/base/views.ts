// The real properties of a buffer. A subclass may override its length, offset and buffer; the
// getters of the built-in prototypes read the object itself.
import { types } from 'node:util';

// As fast as a property access, or faster: 3 ns (Node 20 to 24).
function getterOf<T extends object, R>(prototype: object, name: string | symbol): (of: T) => R {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name) as { get(): R };
  return Function.prototype.call.bind(get) as (of: T) => R;
}

const { isView } = ArrayBuffer;
const typedArray: object = Object.getPrototypeOf(Uint8Array.prototype);

const tagOf = getterOf<object, string | undefined>(typedArray, Symbol.toStringTag);
const bufferOfTyped = getterOf<ArrayBufferView, ArrayBufferLike>(typedArray, 'buffer');
const offsetOfTyped = getterOf<ArrayBufferView, number>(typedArray, 'byteOffset');
const lengthOfTyped = getterOf<ArrayBufferView, number>(typedArray, 'byteLength');
const valuesOf = Function.prototype.call.bind(Uint8Array.prototype.values) as (of: object) => void;
const bufferOfData = getterOf<ArrayBufferView, ArrayBufferLike>(DataView.prototype, 'buffer');
const offsetOfData = getterOf<ArrayBufferView, number>(DataView.prototype, 'byteOffset');
const lengthOfData = getterOf<ArrayBufferView, number>(DataView.prototype, 'byteLength');
const sizeOfPlain = getterOf<ArrayBufferLike, number>(ArrayBuffer.prototype, 'byteLength');
const resizable = getterOf<ArrayBufferLike, boolean>(ArrayBuffer.prototype, 'resizable');
const sizeOfShared = getterOf<ArrayBufferLike, number>(SharedArrayBuffer.prototype, 'byteLength');
const growable = getterOf<ArrayBufferLike, boolean>(SharedArrayBuffer.prototype, 'growable');

/** Whether it is a typed array, of any class. */
export const isTypedArray = (value: unknown): value is Uint8Array =>
  typeof value === 'object' && value !== null && tagOf(value) !== undefined;

/** Whether it is a Uint8Array or an instance of a subclass. */
export const isUint8Array = (value: unknown): value is Uint8Array =>
  typeof value === 'object' && value !== null && tagOf(value) === 'Uint8Array';

/** Whether it is a typed array or a DataView. */
export const isBufferView = (value: unknown): value is ArrayBufferView => isView(value);

/** The ArrayBuffer or SharedArrayBuffer of a view. */
export const bufferOf = (view: ArrayBufferView): ArrayBufferLike =>
  isTypedArray(view) ? bufferOfTyped(view) : bufferOfData(view);

/** Bytes from the start of the buffer to the start of the view. */
export const offsetOf = (view: ArrayBufferView): number =>
  isTypedArray(view) ? offsetOfTyped(view) : offsetOfDataView(view);

/** Bytes of a view. 0 if it is detached. */
export const lengthOf = (view: ArrayBufferView): number =>
  isTypedArray(view) ? lengthOfTyped(view) : lengthOfDataView(view);

// These getters throw if the buffer is detached or has become too short for the view.
function offsetOfDataView(view: ArrayBufferView): number {
  try {
    return offsetOfData(view);
  } catch {
    return 0;
  }
}

function lengthOfDataView(view: ArrayBufferView): number {
  try {
    return lengthOfData(view);
  } catch {
    return 0;
  }
}

/** Whether the buffer of a view of no bytes has become too short for it, or is detached. */
export function isOutOfBounds(view: ArrayBufferView): boolean {
  try {
    if (isTypedArray(view)) valuesOf(view);
    else lengthOfData(view);
    return false;
  } catch {
    return true;
  }
}

/** Bytes of an ArrayBuffer or a SharedArrayBuffer. 0 if it is detached. */
export const sizeOf = (buffer: ArrayBufferLike): number =>
  types.isSharedArrayBuffer(buffer) ? sizeOfShared(buffer) : sizeOfPlain(buffer);

/** Whether its length may change. */
export const isResizable = (buffer: ArrayBufferLike): boolean =>
  types.isSharedArrayBuffer(buffer) ? growable(buffer) : resizable(buffer);

/** Whether an ArrayBuffer is detached. */
export function isDetached(buffer: ArrayBufferLike): boolean {
  if (types.isSharedArrayBuffer(buffer) || sizeOfPlain(buffer) > 0) return false;
  try {
    new Uint8Array(buffer); // throws if the buffer is detached
    return false;
  } catch {
    return true;
  }
}

/** The bytes of a view as a plain Uint8Array with a fixed length. */
export const bytesOf = (view: ArrayBufferView): Uint8Array =>
  new Uint8Array(bufferOf(view), offsetOf(view), lengthOf(view));
