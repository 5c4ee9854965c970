import type { Command } from 'commander';

const WIDTH = 80; // columns, if the terminal does not report them

/** The text below the options of a command's help. */
export interface HelpEnd {
  /** Paragraphs, wrapped like the rest of the help. */
  readonly notes?: readonly string[];
  /** Command lines, printed as they are. */
  readonly examples: readonly string[];
}

/** Adds notes and examples to the end of a command's help. */
export function addHelpEnd(command: Command, { notes = [], examples }: HelpEnd): Command {
  return command.addHelpText('after', () => {
    const width = command.configureOutput().getOutHelpWidth?.() ?? WIDTH;
    const paragraphs = notes.map((note) => `${command.createHelp().boxWrap(note, width)}\n\n`);
    const lines = examples.map((line) => `  ${line}`);
    return `\n${paragraphs.join('')}Examples:\n${lines.join('\n')}`;
  });
}

/** The examples of a command with two sides. */
export const examplesOfSides = (command: string): string[] => [
  `npx libfabric ${command} -p efa           # on one host`,
  `npx libfabric ${command} -p efa HOST      # on another, with the name of the first`,
];
