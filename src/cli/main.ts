#!/usr/bin/env node
import { commandLine } from './command-line.js';
import { handleOutputErrors } from './shared/output-errors.js';

handleOutputErrors();

try {
  await (await commandLine(process.argv[2])).parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode ??= 1;
}
