/** A call of an accelerator's library that failed. */
export abstract class AcceleratorError extends Error {
  /** The library's name of {@link result}: `'CUDA_ERROR_OUT_OF_MEMORY'`, `'NRT_RESOURCE'`. */
  readonly code: string;
  /** The value that the call returned: 2, 4. */
  readonly result: number;
  /** The call that reported it: `'cuMemAlloc'`, `'nrt_tensor_allocate'`. */
  readonly syscall: string;
  /** The usual remedy, if it is known. It is the end of the message. */
  declare readonly hint?: string;

  /** @internal */
  constructor({ result, code, text, syscall }: Failure, hint: string | undefined) {
    const what = text === '' ? code : `${code}: ${text}`;
    super(`${what}, ${syscall}${hint === undefined ? '' : `; ${hint}`}`);
    this.code = code;
    this.result = result;
    this.syscall = syscall;
    if (hint !== undefined) this.hint = hint;
  }

  /** For JSON.stringify(). */
  toJSON(): { code: string; result: number; syscall: string; message: string } {
    const { code, result, syscall, message } = this;
    return { code, result, syscall, message };
  }
}

/** A failed call, as the addon reports it. */
export interface Failure {
  readonly result: number;
  /** Empty if the library has no name for the result. */
  readonly code: string;
  readonly text: string;
  readonly syscall: string;
}

/** An error with a code of its own. */
export type CodedError = Error & { readonly code: string };

/** An error of several lines, with a code. */
export function coded(code: string, lines: readonly string[], cause: Error): CodedError {
  return Object.assign(new Error(lines.join('\n'), { cause }), { code });
}
