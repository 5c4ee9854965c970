import { type Html, html, type Part } from './html.js';

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
