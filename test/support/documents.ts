// The code blocks in README.md, docs/*.md and the other documents.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** The documents, by their paths below the root. */
export const documents: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** A fenced code block. */
export interface Block {
  /** `'README.md:42'`, the line of its fence. */
  readonly place: string;
  readonly language: string;
  readonly code: string;
  /** The reason why the tests do not run it: `<!-- not run: REASON -->` on the line before the fence. */
  readonly notRun: string | undefined;
  /** The program of test/documents that contains it: `<!-- within: NAME -->`. */
  readonly within: string | undefined;
}

const BLOCK = /^(?:<!-- (not run|within): ([^\n]+) -->\n+)?```(\w*)\n(.*?)^```$/gms;

export function textOf(document: string): string {
  return readFileSync(join(root, document), 'utf8');
}

export function blocksOf(document: string): Block[] {
  const text = textOf(document);
  return [...text.matchAll(BLOCK)].map((match) => {
    const [all, directive, value, language = '', code = ''] = match;
    const fence = match.index + all.indexOf('```');
    return {
      place: `${document}:${text.slice(0, fence).split('\n').length}`,
      language,
      code,
      notRun: directive === 'not run' ? value : undefined,
      within: directive === 'within' ? value : undefined,
    };
  });
}

/** All blocks of one language, of all documents. */
export function blocksIn(language: string): Block[] {
  return documents.flatMap(blocksOf).filter((block) => block.language === language);
}
