// The warnings of a process while a test runs.
import { onTestFinished } from 'vitest';

/** Messages of the warnings from now on. */
export function warningsFromNow(): string[] {
  const messages: string[] = [];
  const listener = ({ name, message }: Error) => messages.push(`${name}: ${message}`);
  process.on('warning', listener);
  onTestFinished(() => void process.off('warning', listener));
  return messages;
}
