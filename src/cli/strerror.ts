import { getSystemErrorMap } from 'node:util';
import { Command, InvalidArgumentError } from 'commander';
import { describeErrno, errnoByCode } from '../error-codes.js';
import { strerror } from '../library.js';
import { native } from '../native.js';

/** An error number of libfabric's, with the members that it has in a FabricError. */
interface ErrorText {
  readonly errno: number;
  readonly code: string;
  readonly text: string;
}

/** libfabric strerror: fi_strerror(1), for names as well. */
export function strerrorCommand(): Command {
  return new Command('strerror')
    .summary("show the name and text of libfabric's errors")
    .description(
      "Shows the number, name and text of libfabric's errors: fi_strerror(1), fi_errno(3).",
    )
    .argument(
      '<code...>',
      'numbers (decimal, 0x.. or 0.., of either sign) or names, such as FI_ENODATA',
      (code: string, previous: readonly number[] = []) => [...previous, errnoOf(code)],
    )
    .option('--json', 'print JSON: an array of { errno, code, text }')
    .addHelpText(
      'after',
      `
Examples:
  npx libfabric strerror -61
  npx libfabric strerror 265 FI_ENODATA enocq`,
    )
    .action((codes: readonly number[], { json }: { json?: true }) => {
      const errors = codes.map(describe);
      process.stdout.write(json ? `${JSON.stringify(errors, null, 2)}\n` : table(errors));
    });
}

function describe(errno: number): ErrorText {
  const code = errno === 0 ? 'FI_SUCCESS' : describeErrno(errno).code;
  return { errno, code, text: strerror(errno) };
}

function table(errors: readonly ErrorText[]): string {
  const wide = (values: readonly string[]) => Math.max(...values.map((value) => value.length));
  const numbers = wide(errors.map(({ errno }) => String(errno)));
  const names = wide(errors.map(({ code }) => code));
  return errors
    .map(({ errno, code, text }) => {
      return `${String(errno).padStart(numbers)}  ${code.padEnd(names)}  ${text}\n`;
    })
    .join('');
}

/** The positive number of what may be written as strtol(3) reads it, or as a name. */
function errnoOf(code: string): number {
  const [, digits] = /^[+-]?(0x[\da-f]+|\d+)$/i.exec(code) ?? [];
  if (digits === undefined) return errnoOfName(code);
  const octal = /^0[0-7]+$/.test(digits);
  const errno = octal ? Number.parseInt(digits, 8) : Number(digits);
  if (errno >= 2 ** 31) throw new InvalidArgumentError('It is past 31 bits.');
  return errno;
}

/** libfabric's names, with and without `FI_`, and the system's where libfabric has none. */
function errnoOfName(name: string): number {
  const names = new Map<string, number>([
    ...[...getSystemErrorMap()].map(([errno, [code]]) => [code, -errno] as const),
    ...Object.entries(errnoByCode),
    ['FI_SUCCESS', 0],
  ]);
  const wanted = name.toUpperCase();
  const errno = names.get(`FI_${wanted}`) ?? names.get(wanted);
  if (errno !== undefined) return errno;
  const nearest = native.nearestNames(wanted.slice(0, 64), Object.keys(errnoByCode));
  throw new InvalidArgumentError(`Did you mean ${nearest}?`);
}
