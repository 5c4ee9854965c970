import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Answer, call } from './call.js';

/** A folder of results. `libfabric report` runs in it. */
export class ReportFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'libfabric-report-'));

  /** Writes a file. Content that is not a string is written as JSON. Returns the file's name. */
  write(name: string, content: unknown): string {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    writeFileSync(join(this.path, name), text);
    return name;
  }

  async report(...args: string[]): Promise<Answer> {
    const before = process.cwd();
    process.chdir(this.path);
    try {
      return await call('report', ...args);
    } finally {
      process.chdir(before);
    }
  }

  /** Writes results as 0.json, 1.json and so on, and returns the page of their report. */
  async page(...results: unknown[]): Promise<string> {
    const files = results.map((result, i) => this.write(`${i}.json`, result));
    const { stdout, stderr, status } = await this.report('-o', '-', ...files);
    if (status !== 0) throw new Error(stderr);
    return stdout;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Returns the text of markup. Spaces separate cells and items. */
export function textOf(markup: string): string {
  const text = markup.replace(/<style>.*?<\/style>/s, '').replace(/<[^>]*>/g, ' ');
  const plain = text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
  return plain.replace(/\s+/g, ' ').trim();
}

/** Returns the section of a page with this heading, or undefined. */
export function sectionOf(page: string, heading: string): string | undefined {
  const sections = page.split('<section').slice(1);
  return sections.find((section) => textOf(/<h2.*?<\/h2>/s.exec(section)?.[0] ?? '') === heading);
}

/** Returns the rows of the tables in markup, as the texts of their cells. */
export function rowsOf(markup = ''): string[][] {
  return [...markup.matchAll(/<tr.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/<(td|th)\b.*?<\/\1>/gs)].map(([cell]) => textOf(cell)),
  );
}
