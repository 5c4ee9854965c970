// Writes the pages of the reference as Markdown.
import { INDEX, PAGES } from './pages.mjs';

const HEAD = '<!-- Written by `npm run docs` from the comments in src. -->\n\n';

/** The reference of a model as files: a map from their names to their texts. */
export function renderReference(model) {
  const book = new Book(model);
  const files = PAGES.map((page) => [`${page.file}.md`, book.page(page)]);
  return new Map([[`${INDEX}.md`, book.index()], ...files]);
}

class Book {
  #model;
  #places = new Map(); // the page and anchor of each export and interface of calls, by symbol

  constructor(model) {
    this.#model = model;
    for (const page of PAGES) this.#placeGroups(page);
    for (const page of PAGES) {
      const file = `${page.file}.md`;
      const place = (name, where) => this.#places.set(this.#symbol(name, page), where);
      for (const name of page.also ?? []) place(name, file);
      for (const name of this.#names(page)) {
        place(name, isTitle(page, name) ? file : `${file}#${slug(name)}`);
      }
    }
  }

  // The interfaces of which a page's type is composed stand on that page.
  #placeGroups(page) {
    const { file, type, like } = page;
    if (!type || like) return;
    for (const { parent } of this.#model.membersOf(type)) {
      const group = this.#group(parent);
      if (group) this.#places.set(this.#symbol(parent, page), `${file}.md#${slug(group.title)}`);
    }
  }

  // The export that a page means by a name: one of its module, or of the first module that has it. Modules may have
  // different exports of the same name.
  #symbol(name, page) {
    const own = this.#model.modules.get(moduleOf(page));
    const all = [own, ...this.#model.modules.values()];
    return all.find((exports) => exports.has(name))?.get(name) ?? name;
  }

  #place(name, page) {
    return this.#places.get(this.#symbol(name, page));
  }

  // The exports of a page: those that it names, or those that are nowhere else.
  #names(page) {
    if (!page.rest) return [...page.names, ...(page.with ?? [])];
    const others = PAGES.filter((other) => !other.rest && moduleOf(other) === moduleOf(page));
    const taken = new Set(
      others.flatMap((other) => [...this.#names(other), ...(other.also ?? [])]),
    );
    const names = [...this.#model.modules.get(moduleOf(page)).keys()];
    const grouped = (name) => {
      const place = this.#place(name, page);
      return place !== undefined && !place.startsWith(`${page.file}.md`);
    };
    return names.filter((name) => !taken.has(name) && !grouped(name)).sort();
  }

  index() {
    const rows = PAGES.map((page) => {
      const names = this.#names(page);
      const shown = page.rest ? '' : names.map((name) => `\`${name}\``).join(', ');
      return `- [${titleOf(page)}](${page.file}.md)${shown && `: ${shown}`}`;
    });
    const note =
      'One page for each class, with all its calls and what they throw. The guides in the folder above explain how to\n' +
      'use them.';
    return `${HEAD}# API reference\n\n${note}\n\n${rows.join('\n')}\n`;
  }

  page(page) {
    const parts = [`# ${titleOf(page)}`, ...(page.intro ? [page.intro] : [])];
    for (const name of this.#names(page)) {
      const entry = this.#entry(name, page);
      if (!isTitle(page, name)) parts.push(`## ${name}`);
      parts.push(...this.#export(entry, page, isTitle(page, name)));
    }
    return `${HEAD}${this.#linked(parts.filter(Boolean).join('\n\n'), page)}\n`;
  }

  #entry(name, page) {
    return this.#model.describe(this.#model.modules.get(moduleOf(page)).get(name));
  }

  #export(entry, page, top) {
    const parts = [entry.summary];
    if (entry.kind === 'alias' && !(top && page.type)) parts.push(code(entry.text));
    if (entry.kind === 'variable') parts.push(code(`${entry.name}: ${entry.type}`));
    if (entry.kind === 'function') parts.push(code(entry.signatures.join('\n')));
    if (entry.creation?.length > 0) parts.push(code(entry.creation.join('\n')));
    parts.push(throwsOf(entry), ...entry.examples);
    const level = top ? '##' : '###';
    if (top && page.type) parts.push(...this.#calls(page));
    else if (entry.kind === 'interface')
      parts.push(fields(entry.members), ...this.#sections(entry.members, level, page));
    else if (entry.kind === 'class') {
      const statics = entry.statics.map((one) => ({ ...one, name: `${entry.name}.${one.name}` }));
      parts.push(contents([...statics, ...entry.members]), fields(entry.members));
      parts.push(
        ...this.#sections(statics, level, page),
        ...this.#sections(entry.members, level, page),
      );
    }
    return parts;
  }

  // The members of a type that is composed of interfaces, by interface.
  #calls(page) {
    const members = this.#model.membersOf(page.type);
    const own = members.filter(({ parent }) => !page.like || !this.#isShared(parent, page));
    const parts = [contents(own)];
    if (page.like) parts.push(this.#alike(page, members));
    for (const parent of new Set(own.map((member) => member.parent))) {
      const group = this.#group(parent);
      const mine = own.filter((member) => member.parent === parent);
      if (group) parts.push(`## ${group.title}`, group.text, throwsOf(group));
      parts.push(fields(mine), ...this.#sections(mine, group ? '###' : '##', page));
    }
    return parts;
  }

  #isShared(parent, page) {
    return this.#place(parent, page)?.startsWith(`${page.like.page}.md#`) ?? false;
  }

  #alike(page, members) {
    const { like } = page;
    const names = members
      .filter(({ parent }) => this.#isShared(parent, page))
      .map(({ name }) => `[\`${name}\`](${like.page}.md#${slug(name)})`);
    return `It also has these calls of an endpoint. ${like.note}\n\n${names.join(', ')}`;
  }

  // The title and text of an interface of calls. Its first sentence is the title.
  #group(name) {
    const symbol = this.#model.modules.get('libfabric').get(name);
    if (!symbol) return undefined;
    const entry = this.#model.describe(symbol);
    if (entry.kind !== 'interface') return undefined;
    const [title, ...rest] = entry.summary.split(/(?<=[a-z])[:.]\s/);
    const text = rest.join('. ').replace(/ ?`[SR]` is the return type\./, '');
    return { ...entry, title: title.replace(/\.$/, ''), text };
  }

  // A section for each call of the members.
  #sections(members, level, page) {
    return members
      .filter(({ signatures }) => signatures)
      .map((member) => {
        const text = member.signatures.join('\n');
        const types = new Set(text.match(/(?<!['"\w])[A-Z]\w+/g));
        const known = [...types].filter((name) => this.#place(name, page) !== undefined);
        const uses =
          known.length > 0 && `Types: ${known.map((name) => `{@link ${name}}`).join(', ')}`;
        const parts = [
          `${level} ${member.name}`,
          code(text),
          member.summary,
          throwsOf(member),
          uses,
        ];
        return [...parts, ...member.examples].filter(Boolean).join('\n\n');
      });
  }

  // Replaces {@link NAME} and {@link NAME.MEMBER}.
  #linked(text, page) {
    const own = new RegExp(`^${page.file}\\.md(?=#)`);
    const link = (name, member) => {
      const place = this.#place(name, page);
      const shown = member ? `${name.replace(/Base$/, '')}.${member}` : name;
      if (!place) return `\`${shown}\``;
      const target = member ? `${place.replace(/#.*/, '')}#${slug(member)}` : place;
      return `[\`${shown}\`](${target.replace(own, '')})`;
    };
    const relative = text.replaceAll(/\]\((\.\.\/)*docs\//g, '](../'); // relative to the sources
    return relative.replaceAll(/\{@link\s+(\w+)(?:\.(\w+))?\s*(?:\|[^}]*)?\}/g, (_, name, member) =>
      link(name, member),
    );
  }
}

const moduleOf = (page) => page.module ?? 'libfabric';
const titleOf = ({ title, names }) => title ?? names[0];
const isTitle = (page, name) =>
  titleOf(page) === name || page.title?.endsWith(`.${name.toLowerCase()}`);
const slug = (title) =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
const code = (text) => `\`\`\`ts\n${text}\n\`\`\``;
const firstSentence = (text) =>
  text.replaceAll(/\s+/g, ' ').match(/^.*?\.(?= [A-Z`]|$)/)?.[0] ?? text;
const indented = (text) => text.replaceAll('\n', '\n  ');

function throwsOf({ throws }) {
  if (throws.length <= 1) return throws[0] && `Throws: ${throws[0]}`;
  return `Throws:\n\n${throws.map((text) => `- ${indented(text)}`).join('\n')}`;
}

const contents = (members) => {
  const rows = members
    .filter(({ signatures }) => signatures)
    .map(({ name, summary }) => `| [\`${name}\`](#${slug(name)}) | ${firstSentence(summary)} |`);
  return rows.length > 3 ? ['| call | |', '| --- | --- |', ...rows].join('\n') : '';
};

const fields = (members) =>
  members
    .filter(({ signatures }) => !signatures)
    .map(({ name, optional, type, summary }) => {
      const text = summary && `: ${indented(summary)}`;
      return `- \`${name}${optional ? '?' : ''}: ${type}\`${text}`;
    })
    .join('\n');
