// The software devices of a test file, and of all processes that it starts, meet nobody else's, and
// leave nothing behind.
import { randomBytes } from 'node:crypto';

/** A namespace that nobody else has: a pid is another process in another container. */
export const ownNamespace = (purpose: string): string =>
  `${purpose}-${process.pid}-${randomBytes(4).toString('hex')}`;

process.env.SOFTEFA_NAMESPACE = ownNamespace('test');
process.env.SOFTEFA_KEEP = '0';
