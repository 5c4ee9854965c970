import { outOfRange } from '../../base/errors.js';

/** Throws if a stream has more bytes than the memory that was offered for it. @param left bytes that are still free. */
export function checkBound(left: number, limit: number): void {
  if (left >= 0) return;
  throw outOfRange('the stream', `at most ${limit} bytes, which the token allows`, limit - left);
}
