import type { Command } from 'commander';

/** Lets a command take a long option by any beginning that only one of its options has, as getopt_long(3) does. */
export function acceptAbbreviations(command: Command): Command {
  const parse = command.parseOptions.bind(command);
  command.parseOptions = (args) => parse(unabbreviated(command, args));
  return command;
}

function unabbreviated(command: Command, args: readonly string[]): string[] {
  const end = args.indexOf('--');
  return args.map((arg, i) => {
    if (!arg.startsWith('--') || (end !== -1 && i >= end)) return arg;
    const [, written = '', value = ''] = /^(--[^=]*)(.*)$/s.exec(arg) ?? [];
    return `${longOf(command, written)}${value}`;
  });
}

function longOf(command: Command, written: string): string {
  const names = [...command.options.map(({ long }) => long), '--help'].filter(
    (each) => each !== undefined,
  );
  if (names.includes(written)) return written;
  const meant = names.filter((name) => name.startsWith(written));
  if (meant.length > 1) {
    return command.error(`error: option '${written}' is ambiguous: ${meant.join(', ')}`);
  }
  return meant[0] ?? written;
}
