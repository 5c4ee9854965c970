import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { BenchmarkRow } from '../shared/result.js';
import { parseFabtests } from './fabtests-output.js';
import type { Input } from './run.js';
import { parseResult } from './schema.js';

/** Reads a result of this package or fabtests' output. Throws an Error that names the file. */
export function readInputs(path: string): Input[] {
  try {
    const file = basename(path);
    return parse(readFileSync(path, 'utf8')).map((input) => ({ ...input, file }) as Input);
  } catch (error) {
    throw new Error(`${path}: ${reasonOf(error as NodeJS.ErrnoException)}`);
  }
}

function parse(text: string): Omit<Input, 'file'>[] {
  if (/^\s*[[{"]/.test(text)) {
    const measured = parseResult(JSON.parse(text));
    if (measured.kind === 'matrix') return [{ kind: 'matrix', measured }];
    return [{ kind: 'benchmark', measured: { ...measured, rows: bySize(measured.rows) } }];
  }
  const found = parseFabtests(text);
  if (found.length === 0) throw new Error('neither a JSON result nor the output of fabtests');
  return found.map((measured) => ({
    kind: 'benchmark',
    measured: { ...measured, rows: bySize(measured.rows) },
  }));
}

function bySize(rows: readonly BenchmarkRow[]): BenchmarkRow[] {
  return rows.toSorted((a, b) => a.size - b.size);
}

// Names and values in a file may contain any characters, and the message goes to a terminal.
function reasonOf(error: NodeJS.ErrnoException): string {
  const reasons: Record<string, string> = { ENOENT: 'no such file', EISDIR: 'is a directory' };
  const prefix = error instanceof SyntaxError ? 'not JSON: ' : '';
  const reason = reasons[error.code ?? ''] ?? `${prefix}${error.message}`;
  return reason.replace(/\p{Cc}+/gu, ' ').slice(0, 300);
}
