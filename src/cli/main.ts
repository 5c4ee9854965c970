#!/usr/bin/env node
import { commandLine } from './command-line.js';

// A reader such as head(1) may close the pipe early. Another error, such as a full disk, loses output.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  console.error(`The output cannot be written: ${error.message}`);
  process.exit(1);
});
process.stderr.on('error', () => {}); // there is nobody to tell

try {
  await (await commandLine(process.argv[2])).parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode ??= 1;
}
