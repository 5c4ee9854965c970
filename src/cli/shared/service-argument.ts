import { InvalidArgumentError } from 'commander';
import { isService, MAX_PORT } from '../../base/checks.js';

/** Reads a port, or the name of a service. */
export function serviceArgument(text: string): string {
  if (isService(text)) return text;
  throw new InvalidArgumentError(
    `It must be a port from 0 to ${MAX_PORT}, or the name of a service.`,
  );
}
