/** Markup that is safe to insert as it is. */
export class Html {
  constructor(readonly markup: string) {}
}

/** What a template takes: text is escaped, markup is not, lists are joined, nothing is left out. */
export type Part = Html | string | number | undefined | false | readonly Part[];

/** Makes markup from a template; everything in it that is not markup itself is escaped. */
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

/** A table that scrolls where it is too wide, also with the keyboard. */
export function table(caption: string, head: Html, rows: readonly Html[], foot?: Html): Html {
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
<table><caption><span>${caption}</span></caption><thead>${head}</thead>
<tbody>${rows}</tbody>${foot && html`<tfoot>${foot}</tfoot>`}</table></div>`;
}

/** What one opens to see figures. Printed open. */
export function details(summary: string, body: Part, open = false): Html {
  return html`<details${open && html` open`}><summary>${summary}</summary>${body}</details>`;
}

/** A section of the page; nothing where it has no content. */
export function section(title: string, ...body: Part[]): Html {
  return html`<section><h2>${title}</h2>${body}</section>`;
}
