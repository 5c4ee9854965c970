import { invalidArgType, invalidArgValue } from '../base/errors.js';
import { isInstance } from '../base/objects.js';
import { TransferEngine } from '../transfer/index.js';

/** Throws unless a value is an open engine. */
export function checkEngine(engine: unknown): void {
  if (!isInstance(engine, TransferEngine))
    throw invalidArgType('engine', 'a TransferEngine', engine);
  if (engine.closed) throw invalidArgValue('engine', 'is closed');
}
