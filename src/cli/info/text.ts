import type { ParamType } from '../../base/flags.js';
import type { Info, Param } from '../../contract/info-types.js';
import { infoToString } from '../../info/info.js';

// The output of fi_info(1), byte for byte.

const NONE = '(null)'; // as printf(3) shows it

function providerLines({ fabricAttr }: Info): string[] {
  return [`${fabricAttr.provName ?? NONE}:`, `    version: ${fabricAttr.provVersion}`];
}

function endpointLines({ fabricAttr, domainAttr, epAttr }: Info): string[] {
  return [
    `provider: ${fabricAttr.provName ?? NONE}`,
    `    fabric: ${fabricAttr.name ?? NONE}`,
    `    domain: ${domainAttr.name ?? NONE}`,
    `    version: ${fabricAttr.provVersion}`,
    `    type: ${epAttr.type}`,
    `    protocol: ${epAttr.protocol}`,
  ];
}

const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');

/** `fi_info -l` */
export function providersText(entries: readonly Info[]): string {
  return textOf(entries.flatMap(providerLines));
}

/** `fi_info` */
export function shortText(entries: readonly Info[]): string {
  return textOf(entries.flatMap(endpointLines));
}

/** `fi_info -v` */
export function verboseText(entries: readonly Info[]): string {
  return entries.map((info) => `---\n${infoToString(info)}`).join('');
}

const TYPES: Readonly<Record<string, string>> = {
  FI_PARAM_STRING: 'String',
  FI_PARAM_INT: 'Integer',
  FI_PARAM_SIZE_T: 'size_t',
  FI_PARAM_BOOL: 'Boolean (0/1, on/off, true/false, yes/no)',
} satisfies Partial<Record<ParamType, string>>;

/** `fi_info -e`, except for the NUL bytes that it prints around a value without spaces. */
export function paramsText(params: readonly Param[]): string {
  return params.map((param) => `${textOf(paramLines(param))}\n`).join('');
}

function paramLines({ name, type, helpString, value }: Param): string[] {
  const about = [`# ${name}: ${TYPES[type] ?? 'Unknown'}`, `# ${helpString}`];
  if (value === null) return about;
  return [...about, `${name}=${value.includes(' ') ? `"${value}"` : value}`];
}
