import { invalidArgType, invalidArgValue } from '../base/errors.js';
import { TransferEngine } from '../transfer/index.js';

/** Throws unless a value is an open engine. */
export function checkEngine(engine: unknown): void {
  if (!(engine instanceof TransferEngine))
    throw invalidArgType('engine', 'a TransferEngine', engine);
  if (engine.closed) throw invalidArgValue('engine', 'is closed');
}
