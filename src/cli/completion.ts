import { Argument, Command } from 'commander';
import { addHelpEnd } from './shared/help.js';

const PROVIDERS = ['efa', 'shm', 'tcp', 'udp'];

/** libfabric completion: a script for the shell, which completes commands, options and their choices. */
export function completionCommand(load: () => Promise<Command>): Command {
  const command = new Command('completion')
    .summary('print a script that completes commands in a shell')
    .description('Prints a script that completes commands, options and their choices.')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh']))
    .action(async (shell: string) => {
      process.stdout.write(scriptOf(await load(), shell));
    });
  return addHelpEnd(command, {
    notes: ['The command libfabric must be installed: npm install --global libfabric.'],
    examples: [
      'source <(libfabric completion bash)   # in ~/.bashrc',
      'source <(libfabric completion zsh)    # in ~/.zshrc',
    ],
  });
}

function scriptOf({ commands }: Command, shell: string): string {
  const names = ['help', ...commands.map((each) => each.name())];
  return `${shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_libfabric() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} words=
  COMPREPLY=()
  [ "$before" = = ] && before=\${COMP_WORDS[COMP_CWORD-2]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${names.join(' ')}'
  else
    case "\${COMP_WORDS[1]} $before" in
${commands.flatMap(choicesOf).join('\n')}
    esac
    if [ -z "$words" ]; then
      case "\${COMP_WORDS[1]}" in
        help) words='${names.join(' ')}' ;;
${commands.map(optionsOf).join('\n')}
      esac
    fi
  fi
  [ -n "$words" ] && COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o bashdefault -o default -F _libfabric libfabric
`;
}

function optionsOf(command: Command): string {
  const flags = command.options.flatMap(({ long, short }) => long ?? short ?? []);
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  return `        ${command.name()}) words='${[...choices, ...flags, '--help'].join(' ')}' ;;`;
}

function choicesOf(command: Command): string[] {
  return command.options.flatMap(({ long, short, argChoices }) => {
    const words = argChoices ?? (long === '--provider' ? PROVIDERS : []);
    if (words.length === 0) return [];
    const patterns = [short, long].flatMap((flag) => (flag ? `"${command.name()} ${flag}"` : []));
    return `      ${patterns.join('|')}) words='${words.join(' ')}' ;;`;
  });
}
