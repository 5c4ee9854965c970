#!/usr/bin/env node
import { commandLine } from './command-line.js';

// As with any command, a reader such as head(1) may have had enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await commandLine().parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode ??= 1;
}
