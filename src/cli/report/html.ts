/** Markup that is safe to insert without escaping. */
export class Html {
  constructor(readonly markup: string) {}
}

/**
 * A value in a template. Text is escaped, markup is not, lists are joined, undefined and false are
 * omitted.
 */
export type Part = Html | string | number | undefined | false | readonly Part[];

/** Makes markup from a template. Every value that is not markup is escaped. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(String.raw({ raw: strings }, ...parts.map(render)));
}

function render(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.markup;
  return typeof part === 'object' ? part.map(render).join('') : escapeText(String(part));
}

/** Escapes text for an element or an attribute in double quotes. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** With more runs, tables of figures are folded: each run has its own columns. */
export const MOST_OPEN_RUNS = 4;

const MOST_CHARTS = 6;

/** Groups of runs, each for a table that fits a page. */
export function groupsOf<T>(runs: readonly T[], most = MOST_OPEN_RUNS): T[][] {
  const count = Math.ceil(runs.length / most);
  return Array.from({ length: count }, (_, i) => runs.slice(i * most, (i + 1) * most));
}

/** Figures of each run, folded; all of them if there are many. */
export function figuresOfEach(
  runs: readonly { readonly name: string; readonly figures: Html }[],
): Part {
  const each = runs.map(({ name, figures }) => details(`Figures: ${name}`, figures));
  return runs.length > MOST_OPEN_RUNS ? details('Figures of each run', each) : each;
}

/** A table that scrolls if it is too wide, also with the keyboard. */
export function table(caption: string, head: Html, rows: readonly Html[], foot?: Html): Html {
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
<table><caption><span>${caption}</span></caption><thead>${head}</thead>
<tbody>${rows}</tbody>${foot && html`<tfoot>${foot}</tfoot>`}</table></div>`;
}

/** A collapsible block of figures. It is printed open. */
export function details(summary: string, body: Part, open = false): Html {
  return html`<details${open && html` open`}><summary>${summary}</summary>${body}</details>`;
}

/** Shows the first charts of a section. The others are folded if there are many. */
export function charts(all: readonly (Html | undefined)[]): Html {
  const grid = (some: readonly (Html | undefined)[]) => html`<div class="charts">${some}</div>`;
  if (all.length <= MOST_CHARTS) return grid(all);
  const rest = all.slice(MOST_CHARTS);
  return html`${grid(all.slice(0, MOST_CHARTS))}${details(`${rest.length} more`, grid(rest))}`;
}

/** A section of the page; undefined if it has no content. */
export function section(title: string, ...body: Part[]): Html {
  return html`<section><h2>${title}</h2>${body}</section>`;
}
