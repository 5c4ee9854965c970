import { startAtCaller } from '../base/errors.js';
import { callerOf } from '../contract/load.js';
import type { Failure } from './errors.js';

/** Native memory. */
export type NativeHandle = { readonly __memory: never };

/** The native owner of the descriptor of a dmabuf. */
export type NativeDmabufHandle = { readonly __dmabuf: never };

/** A dmabuf that an addon has exported. */
export interface NativeDmabuf {
  readonly handle: NativeDmabufHandle;
  readonly fd: number;
  /** Of the memory, in the dmabuf. */
  readonly offset: number;
}

/** The common interface of the addons of accelerators: native/accelerator. */
export interface NativeMemory {
  allocate(device: number, byteLength: number): { handle: NativeHandle; pointer: bigint };
  free(memory: NativeHandle): void;
  fill(memory: NativeHandle, value: number, offset: number, length: number): void;
  write(memory: NativeHandle, offset: number, bytes: Uint8Array): void;
  read(memory: NativeHandle, offset: number, bytes: Uint8Array): void;
  /** Whether this process has registered the memory by its pointer. */
  isInUse(memory: NativeHandle): boolean;
  exportDmabuf(device: number, pointer: bigint, byteLength: number): NativeDmabuf;
  closeDmabuf(dmabuf: NativeDmabufHandle): void;
}

/** Calls an addon. */
export type CallOf<A> = <T>(use: (addon: A) => T) => T;

/** The errors of an addon's failures. */
export interface Explanations {
  /** The library, as the addon loads it. */
  readonly library: string;
  notFound(cause: Error): Error;
  tooOld(cause: Error): Error;
  failed(failure: Failure): Error;
}

/** A function that uses an addon, which the first call loads, and explains its failures. */
export function acceleratorCall<A>(load: () => unknown, explanations: Explanations): CallOf<A> {
  const { library, notFound, tooOld, failed } = explanations;
  return callerOf<A>(load, (error) => {
    if (!(error instanceof Error)) return error;
    if ('missing' in error) {
      return startAtCaller(error.missing === library ? notFound(error) : tooOld(error));
    }
    if (!('result' in error && 'syscall' in error && 'resultName' in error)) return error;
    const failure = {
      result: Number(error.result),
      code: String(error.resultName),
      text: error.message,
      syscall: String(error.syscall),
    };
    return startAtCaller(failed(failure));
  });
}
