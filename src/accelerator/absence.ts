import { AcceleratorError } from './errors.js';

/** The codes of an absence: the library is not installed, or too old, or it has no device. */
export type AbsenceCodes<Code extends string> = readonly [notFound: Code, tooOld: Code, none: Code];

/**
 * Why there is no device. `whyNone` uses the library, and returns the reason if it has no device, or null
 * if it has some. @internal
 */
export function absenceOf<Code extends string>(
  [notFound, tooOld, none]: AbsenceCodes<Code>,
  whyNone: () => string | null,
): { readonly code: Code; readonly message: string } | null {
  try {
    const message = whyNone();
    return message === null ? null : { code: none, message };
  } catch (error) {
    const { code, message } = error as { code: Code; message: string };
    if (error instanceof AcceleratorError) return { code: none, message };
    if (code !== notFound && code !== tooOld) throw error;
    return { code, message };
  }
}
