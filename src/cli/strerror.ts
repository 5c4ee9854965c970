import { getSystemErrorMap } from 'node:util';
import { Command, InvalidArgumentError, Option } from 'commander';
import { efaNumbers, efaStatus } from '../base/efa-statuses.js';
import { describeErrno, errnoByCode } from '../base/error-codes.js';
import { native } from '../contract/native.js';
import { strerror, version } from '../info/library.js';

/** An error number of libfabric, with its members in a FabricError. */
interface ErrorText {
  readonly errno: number;
  readonly code: string;
  readonly text: string;
}

/** An error number of a provider, with its members in a FabricError. */
interface ProviderErrorText {
  readonly provErrno: number;
  readonly provCode: string;
  readonly text: string;
  readonly retryable: boolean;
  readonly hint?: string;
}

type AnyText = ErrorText | ProviderErrorText;

interface Options {
  readonly json?: true;
  readonly provider?: 'efa';
}

const NO_LIBRARY = new Set<unknown>([
  'ERR_ADDON_NOT_FOUND',
  'ERR_LIBFABRIC_NOT_FOUND',
  'ERR_LIBFABRIC_TOO_OLD',
  'ERR_UNSUPPORTED_PLATFORM',
]);

/** libfabric strerror: fi_strerror(1), which also accepts names. */
export function strerrorCommand(): Command {
  return new Command('strerror')
    .summary("show the name and text of libfabric's errors")
    .description(
      "Shows the number, name and text of libfabric's errors: fi_strerror(1), fi_errno(3). For errors of the " +
        'efa provider (provErrno) it also shows whether a retry may succeed, and what helps.',
    )
    .argument('<code...>', 'numbers (decimal, 0x.. or 0.., of either sign) or names: FI_ENODATA')
    .addOption(
      new Option('-p, --provider <name>', "numbers and names are the provider's").choices(['efa']),
    )
    .option('--json', 'print JSON: an array of { errno, code, text }')
    .addHelpText(
      'after',
      `
Examples:
  npx libfabric strerror -61
  npx libfabric strerror 265 FI_ENODATA enocq
  npx libfabric strerror 4126
  npx libfabric strerror -p efa 13 REMOTE_ERROR_RNR`,
    )
    .action((codes: readonly string[], { json, provider }: Options) => {
      const errors = codes.map(provider === 'efa' ? describeEfa : describe);
      process.stdout.write(json ? `${JSON.stringify(errors, null, 2)}\n` : table(errors));
    });
}

// Numbers from here on belong to the efa provider only.
const EFA_OWN = 4096;

function describe(written: string): AnyText {
  const errno = numberOf(written) ?? errnoOfName(written);
  if (errno >= EFA_OWN && efaStatus(errno) !== undefined) return describeEfa(written);
  const code = errno === 0 ? 'FI_SUCCESS' : describeErrno(errno).code;
  const text = withLibrary(() => strerror(errno)) ?? describeErrno(errno).text;
  return { errno, code, text };
}

function describeEfa(written: string): ProviderErrorText {
  const numbers = efaNumbers();
  const number = numberOf(written) ?? numbers.get(written.toUpperCase());
  if (number === undefined) throw unknownName(written, [...numbers.keys()]);
  const status = efaStatus(number, withLibrary(version));
  if (status === undefined) throw refused(written, 'is no error of the efa provider.');
  const { name, text, retryable, hint } = status;
  return {
    provErrno: number,
    provCode: name,
    text,
    retryable,
    ...(hint !== undefined && { hint }),
  };
}

function table(errors: readonly AnyText[]): string {
  const rows = errors.map((error) =>
    'errno' in error
      ? { number: String(error.errno), name: error.code, text: error.text, more: [] }
      : {
          number: String(error.provErrno),
          name: error.provCode,
          text: error.text,
          more: advice(error),
        },
  );
  const wide = (values: readonly string[]) => Math.max(...values.map((value) => value.length));
  const numbers = wide(rows.map(({ number }) => number));
  const names = wide(rows.map(({ name }) => name));
  const indent = ' '.repeat(numbers + 2);
  return rows
    .flatMap(({ number, name, text, more }) => [
      `${number.padStart(numbers)}  ${name.padEnd(names)}  ${text}\n`,
      ...more.map((line) => `${indent}${line}\n`),
    ])
    .join('');
}

function advice({ retryable, hint }: ProviderErrorText): string[] {
  const retry = retryable ? 'a retry may succeed' : 'a retry will not succeed';
  return hint === undefined ? [] : [retry, hint];
}

/** The absolute value of a number in strtol(3) syntax; undefined for a name. */
function numberOf(code: string): number | undefined {
  const [, digits] = /^[+-]?(0x[\da-f]+|\d+)$/i.exec(code) ?? [];
  if (digits === undefined) return undefined;
  const octal = /^0[0-7]+$/.test(digits);
  const errno = octal ? Number.parseInt(digits, 8) : Number(digits);
  if (errno >= 2 ** 31) throw refused(code, 'is past 31 bits.');
  return errno;
}

/**
 * The number of a libfabric name, with or without `FI_`, or of a system name that libfabric lacks.
 */
function errnoOfName(name: string): number {
  const names = new Map<string, number>([
    ...[...getSystemErrorMap()].map(([errno, [code]]) => [code, -errno] as const),
    ...Object.entries(errnoByCode),
    ['FI_SUCCESS', 0],
  ]);
  const wanted = name.toUpperCase();
  const errno = names.get(`FI_${wanted}`) ?? names.get(wanted);
  if (errno !== undefined) return errno;
  throw unknownName(name, Object.keys(errnoByCode));
}

function unknownName(name: string, names: readonly string[]): Error {
  const nearest = withLibrary(() => native.nearestNames(name.toUpperCase().slice(0, 64), names));
  const advice = nearest ? `Did you mean ${nearest}?` : 'fi_errno(3) has the names.';
  return refused(name, `is not known. ${advice}`);
}

/** What `call` returns. Undefined if this machine has no libfabric: the errors of another one can be read here too. */
function withLibrary<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (error instanceof Error && 'code' in error && NO_LIBRARY.has(error.code)) return undefined;
    throw error;
  }
}

const refused = (code: string, why: string) => new InvalidArgumentError(`error: '${code}' ${why}`);
