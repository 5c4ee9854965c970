import { Command, Option } from 'commander';
import { errnoByCode } from '../../base/error-codes.js';
import { FabricError } from '../../base/errors.js';
import { infoToString } from '../../info/info.js';
import { getParams, libraryPath, strerror, version } from '../../info/library.js';
import { addHelpEnd } from '../shared/help.js';
import { jsonText } from '../shared/json.js';
import { packageVersion } from '../shared/package-version.js';
import { serviceArgument } from '../shared/service-argument.js';
import { adviceFor } from './advice.js';
import { ask, nameOf, namesOf, type Query } from './query.js';
import { answerText, askEndpoints } from './rdma.js';
import { paramsText, providersText, shortText, verboseText } from './text.js';

interface Options extends Query {
  readonly env?: true;
  readonly getenv?: string;
  readonly verbose?: true;
  readonly info?: string;
  readonly json?: true;
  readonly version?: true;
  readonly rdma?: true;
}

const more = (list: string, previous: string[] = []) => [...previous, ...namesOf(list)];

/** libfabric info: fi_info(1), with JSON and advice. */
export function infoCommand(): Command {
  const command = new Command('info')
    .summary('show what libfabric offers on this machine')
    .description(
      'Shows what libfabric offers on this machine, or the part of it that matches the options: fi_info(1). ' +
        'Names may be written in lower case; lists are separated by | or commas.',
    )
    .addOption(new Option('-s, --src_addr <addr>', 'a local name or address').conflicts('node'))
    .option('-n, --node <name>', 'a name or address that can be reached')
    .option('-P, --port <port>', 'a port number or service name', serviceArgument)
    .option('-c, --caps <list>', 'capabilities: FI_MSG,FI_RMA', more)
    .option('-m, --mode <list>', 'modes that the caller supports (default: all)', namesOf)
    .option('-t, --ep_type <type>', 'an endpoint type: FI_EP_RDM, FI_EP_DGRAM, FI_EP_MSG', nameOf)
    .option('-a, --addr_format <format>', 'an address format: FI_SOCKADDR_IN, ...', nameOf)
    .option('-p, --provider <name>', 'a provider: efa, shm, tcp, ...')
    .option('-d, --domain <name>', 'a domain')
    .option('-f, --fabric <name>', 'a fabric')
    .option('-e, --env', "list libfabric's environment variables")
    .option('-g, --getenv <text>', 'list those with a text in their name')
    .option('-l, --list', 'list providers and their versions')
    .option('-v, --verbose', 'show everything about each result')
    .option('-i, --info <text>', 'show everything about results that contain a text')
    .option(
      '--rdma',
      'open an endpoint of each efa, and show whether the device carries out reads and writes',
    )
    .option('--json', 'print JSON: an array with all fields of -v, -l or -e')
    .option('--version', 'print versions, and which libfabric is used')
    .action(async (options: Options, self: Command) => {
      try {
        const text = options.rdma ? await rdmaAnswer(options) : answer(options);
        process.stdout.write(options.version ? versionText() : text);
      } catch (error) {
        if (FabricError.is(error)) await explain(error.errno, options);
        else self.error(`error: ${wrongName(error)}`, { exitCode: errnoByCode.FI_EINVAL });
      }
    });
  return addHelpEnd(command, {
    notes: [
      'Without a result the exit code is that of fi_info, 61 (FI_ENODATA).',
      'In JSON, a bigint of getInfo() is a string of decimal digits, and memTagFormat is a string in ' +
        'hex. Addresses and keys are hex digits. A size without limit is "Infinity".',
    ],
    examples: [
      'npx libfabric info',
      'npx libfabric info -p tcp -t FI_EP_RDM -c FI_MSG,FI_RMA -v',
      'npx libfabric info -g efa',
      'npx libfabric softefa -- npx libfabric info -p efa',
    ],
  });
}

/** The output of fi_info for these options, in its order of precedence. */
function answer(options: Options): string {
  const { json, list, verbose, info } = options;
  const entries = ask(options);
  if (entries.length === 0) throw new FabricError(errnoByCode.FI_ENODATA, 'fi_getinfo');
  if (options.env || options.getenv !== undefined) {
    const params = getParams().filter(({ name }) => contains(name, options.getenv));
    return json ? jsonText(params) : paramsText(params);
  }
  const shown =
    info === undefined ? entries : entries.filter((e) => contains(infoToString(e), info));
  const all = () => jsonText(shown.map((entry) => ({ ...entry }))); // without their short toJSON()
  if (verbose || info !== undefined) return json ? all() : verboseText(shown);
  if (!list) return json ? all() : shortText(shown);
  const providers = entries.map(({ fabricAttr: { provName, provVersion } }) => ({
    provName,
    provVersion,
  }));
  return json ? jsonText(providers) : providersText(entries);
}

/** Whether the device carries out RMA, for each result of efa: only endpoints of efa report it. */
async function rdmaAnswer(options: Options): Promise<string> {
  const reliable = ask({ ...options, ep_type: 'FI_EP_RDM' });
  const entries = reliable.filter(
    ({ caps, fabricAttr }) => fabricAttr.provName === 'efa' && caps.includes('FI_RMA'),
  );
  if (entries.length === 0) throw new FabricError(errnoByCode.FI_ENODATA, 'fi_getinfo');
  const answers = await askEndpoints(entries);
  return options.json ? jsonText(answers) : answers.map(answerText).join('');
}

function contains(text: string, part = ''): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

async function explain(errno: number, query: Query): Promise<void> {
  console.error(`fi_getinfo: -${errno} (${strerror(errno)})`);
  for (const line of await adviceFor(query)) console.error(line);
  process.exitCode = errno;
}

/** The error of an argument, without the path of its hint. */
function wrongName(error: unknown): string {
  if (!(error instanceof TypeError && 'code' in error)) throw error;
  return error.message.replace(/^hints\.\S+: /, '');
}

function versionText(): string {
  const { string, apiVersion } = version();
  return [
    `npm package: ${packageVersion()}\n`,
    `libfabric: ${string}\n`,
    `libfabric api: ${apiVersion}\n`,
    `library: ${libraryPath()}\n`,
  ].join('');
}
