import type { Command } from 'commander';

const INDENT = 2;
const LEAST = 40; // columns that a description needs beside its option
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

/** On a narrow terminal, the help has each description below its option, where there is room for it. */
export function fitsNarrowTerminals(command: Command): Command {
  return command.configureHelp({
    formatItem(term, termWidth, description, helper) {
      const width = helper.helpWidth ?? WIDTH;
      if (description === '' || width - termWidth - 2 * INDENT >= LEAST) {
        return Object.getPrototypeOf(helper).formatItem.call(
          helper,
          term,
          termWidth,
          description,
          helper,
        );
      }
      const indented = (text: string, indent: number) => {
        const lines = helper.boxWrap(text, width - indent).split('\n');
        return lines.map((line) => ' '.repeat(indent) + line).join('\n');
      };
      return `${indented(term, INDENT)}\n${indented(description, 3 * INDENT)}`;
    },
  });
}
