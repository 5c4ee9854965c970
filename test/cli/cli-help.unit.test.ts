// The help of every command, as a terminal of 50, 80 and 120 columns shows it.
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { commandLine, GROUPS } from '../../dist/cli/command-line.js';
import { call } from '../support/call.js';

const all = await commandLine();
const names = all.commands.map((command) => command.name());
const modules = GROUPS.flatMap((group) => group.modules);

/** The help of a command in a terminal of this width. */
async function helpOf(name: string, width: number): Promise<string> {
  let help = '';
  const command = (await commandLine()).commands.find((each) => each.name() === name) as Command;
  const writeOut = (text: string) => {
    help += text;
  };
  command.configureOutput({ writeOut, getOutHelpWidth: () => width });
  command.outputHelp();
  return help;
}

/** The paragraphs before the options and after them, without the examples. */
const prose = (help: string): string[][] =>
  help
    .split('\n\n')
    .filter((part) => /^[A-Z]/.test(part) && !/^(Usage|\w[\w ()]*:\n)/.test(part))
    .map((part) => part.trimEnd().split('\n'));

test.each(modules.map((module) => [module.names.join(' '), module] as const))(
  'the module of %s defines these commands and no others',
  async (_, { names, load }) => {
    const commands = await load();
    expect(commands.map((command) => command.name())).toEqual(names);
  },
);

test.each(names)('%s as the first argument loads its command', async (name) => {
  const { commands } = await commandLine(name);
  expect(commands.map((command) => command.name())).toContain(name);
  expect(commands.length).toBeLessThan(names.length);
});

describe.each(names)('%s', (name) => {
  test.each([50, 80, 120])('fits %d columns', async (width) => {
    const help = await helpOf(name, width);
    const [text] = help.split('Examples:');
    const [, ...lines] = text!.split('\n'); // the usage is one line, as is any command
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(width);
  });

  test('wraps each paragraph once: only its last line is short', async () => {
    for (const lines of prose(await helpOf(name, 80))) {
      for (const [i, line] of lines.slice(0, -1).entries()) {
        const [next] = lines[i + 1]!.split(' ');
        expect(`${line} ${next}`.length, `${line}|${next}`).toBeGreaterThan(80);
      }
    }
  });

  test('has examples', async () => {
    expect(await helpOf(name, 80)).toMatch(/\n\nExamples:\n( {2}.+\n)+$/);
  });
});

test('--version prints the version of the package', async () => {
  const manifest = new URL('../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
  for (const option of ['--version', '-V']) {
    expect(await call(option)).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
  }
});

test('stats names the unit of its interval', async () => {
  const help = (await helpOf('stats', 120)).replace(/\s+/g, ' ');
  expect(help).toContain('--interval <s> seconds between samples (default: 1)');
  expect(help).toContain('end in _bytes count bytes');
});
