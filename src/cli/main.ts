#!/usr/bin/env node
import { commandLine } from './command-line.js';
import { endWith, throwExits } from './shared/exit.js';
import { handleOutputErrors } from './shared/output-errors.js';

handleOutputErrors();

try {
  const program = await commandLine(process.argv[2]);
  throwExits(program);
  await program.parseAsync();
} catch (error) {
  endWith(error);
}
