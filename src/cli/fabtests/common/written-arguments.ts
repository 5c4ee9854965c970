import type { Command, Option } from 'commander';

/** The arguments of a command with two sides. */
export interface Written {
  /** As they were written. */
  readonly argv: readonly string[];
  /** Those that the client of this server needs too, without the client's port. */
  readonly clientArgv: readonly string[];
}

/** The server's options that its client does not need, or that it has under another name. */
const OWN = new Set(['source', 'sourcePort', 'port', 'pinCore']);

/** The arguments of a command. commander's types omit them. */
export function writtenArguments({ parent, options }: Command): Written {
  const raw = (parent as unknown as { rawArgs: string[] }).rawArgs;
  const argv = raw.slice(3); // without node, the program and the command
  return { argv, clientArgv: clientArguments(argv, options) };
}

/** The client's arguments for those of its server. Every option gets words of its own. */
export function clientArguments(argv: readonly string[], options: readonly Option[]): string[] {
  const args: string[] = [];
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--') return [...args, word, ...rest];
    const { option, value, others } = optionOf(word, options);
    if (option === undefined) {
      args.push(word);
      continue;
    }
    if (others !== undefined) rest.unshift(others);
    const words = [others === undefined ? word : word.slice(0, 2)];
    if (option.required && value === undefined) words.push(rest.shift() ?? '');
    if (!OWN.has(option.attributeName())) args.push(...words);
  }
  return args;
}

/** The first option of a word: `--size 64`, `--size=64`, `-S 64`, `-S64`, or `-vS64`, with others behind it. */
function optionOf(word: string, options: readonly Option[]) {
  const [, long, inline] = /^(--[^=]+)(?:=(.*))?$/s.exec(word) ?? [];
  if (long !== undefined) {
    return { option: options.find((each) => each.long === long), value: inline };
  }
  const [, letter, attached] = /^(-[^-])(.+)?$/s.exec(word) ?? [];
  const option = options.find((each) => each.short === letter);
  const takesValue = option?.required || option?.optional;
  if (attached === undefined || takesValue) return { option, value: attached };
  return { option, others: `-${attached}` };
}
