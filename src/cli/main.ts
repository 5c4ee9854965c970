#!/usr/bin/env node
import { commandLine } from './command-line.js';

// A reader such as head(1) may close the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await (await commandLine(process.argv[2])).parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode ??= 1;
}
