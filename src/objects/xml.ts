// The XML of S3: answers are written, and one request is read, which is flat.
import { ObjectError } from './errors.js';
import { listedChecksums, type S3Algorithm } from './s3-checksums.js';

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

// XML 1.0 has no way to write most of these characters. S3 writes references all the same, so that no two keys are one; parsers
// that refuse them need `encoding-type=url`. A carriage return would become a line feed.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
const REFERENCED = /[\u0000-\u0008\u000b-\u001f\ufffe\uffff]/g;

const referenceTo = (character: string): string =>
  `&#x${character.charCodeAt(0).toString(16).toUpperCase()};`;

/** A text as the content of an element. */
export const escaped = (text: string): string =>
  text
    .replace(/[&<>"']/g, (character) => ESCAPES[character] as string)
    .replace(REFERENCED, referenceTo);

/** An element's content: text, or elements in order. An array repeats its element. */
export type Content = string | number | boolean | Date | Elements;
/** Elements in order. */
export interface Elements {
  readonly [name: string]: Content | readonly Content[] | undefined;
}

const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

/** A document of S3. */
export const documentOf = (root: string, elements: Elements, namespace = NAMESPACE): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${namespace && ` xmlns="${namespace}"`}>${bodyOf(elements)}</${root}>`;

function bodyOf(elements: Elements): string {
  return Object.entries(elements)
    .flatMap(([name, content]) => {
      const all = Array.isArray(content) ? content : [content];
      return all
        .filter((each) => each !== undefined)
        .map((each) => `<${name}>${textOf(each)}</${name}>`);
    })
    .join('');
}

function textOf(content: Content): string {
  if (content instanceof Date) return content.toISOString();
  return typeof content === 'object' ? bodyOf(content) : escaped(String(content));
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

function unescaped(text: string): string {
  return text.replace(
    /&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w{1,5}));/gi,
    (all, hex, decimal, name) => {
      const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
      if (name !== undefined) return ENTITIES[name] ?? all;
      return code <= 0x10ffff ? String.fromCodePoint(code) : all;
    },
  );
}

/** The texts of the elements with a name, which have no elements themselves. */
export function textsOf(xml: string, name: string): string[] {
  return contentsOf(xml, name).map((text) => unescaped(text.trim()));
}

/** The contents of the elements with a name. */
export function contentsOf(xml: string, name: string): string[] {
  const contents: string[] = [];
  for (let at = 0; ; ) {
    const start = xml.indexOf(`<${name}>`, at);
    if (start < 0) return contents;
    const from = start + name.length + 2;
    const end = xml.indexOf(`</${name}>`, from);
    if (end < 0) throw new ObjectError('MalformedXML');
    contents.push(xml.slice(from, end));
    at = end + name.length + 3;
  }
}

/** The most parts of an upload, as S3 has it. */
export const MAX_PARTS = 10_000;

/** A part in a CompleteMultipartUpload. */
export interface ListedPart {
  readonly number: number;
  readonly etag: string;
  /** In base64. */
  readonly checksums: ReadonlyMap<S3Algorithm, string>;
}

/** The parts of a CompleteMultipartUpload. */
export function partsOf(xml: string): ListedPart[] {
  // Comments, CDATA and document types hide elements from the functions above, and no client writes them.
  if (xml.includes('<!')) throw new ObjectError('MalformedXML');
  const listed = contentsOf(xml, 'Part');
  if (listed.length > MAX_PARTS)
    throw new ObjectError('InvalidArgument', {
      detail: `an upload has at most ${MAX_PARTS} parts`,
    });
  const parts = listed.map((part) => {
    const [number] = textsOf(part, 'PartNumber');
    const [etag] = textsOf(part, 'ETag');
    if (number === undefined || !/^\d{1,5}$/.test(number) || etag === undefined)
      throw new ObjectError('MalformedXML');
    return { number: Number(number), etag, checksums: listedChecksums(part) };
  });
  if (parts.length === 0) throw new ObjectError('MalformedXML');
  return parts;
}
