// The software devices of a test file, and of all processes that it starts, have a namespace of their own and
// leave no files.
import { randomBytes } from 'node:crypto';

/** Returns a unique namespace. The pid alone is not unique: another container may use the same one. */
export const ownNamespace = (purpose: string): string =>
  `${purpose}-${process.pid}-${randomBytes(4).toString('hex')}`;

process.env.SOFTEFA_NAMESPACE = ownNamespace('test');
process.env.SOFTEFA_KEEP = '0';
