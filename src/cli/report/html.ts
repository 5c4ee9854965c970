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
