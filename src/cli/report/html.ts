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

/** A section of the page; undefined if it has no content. */
export function section(title: string, ...body: Part[]): Html {
  return html`<section><h2>${title}</h2>${body}</section>`;
}
