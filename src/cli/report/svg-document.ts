import { type PlotOptions, plot } from '../../vendor/plot.js';
import { escapeText, Html } from './html.js';

// The part of the DOM that Observable Plot uses: elements with attributes, styles and text.

class TextNode {
  parentNode: SvgElement | null = null;
  constructor(readonly text: string) {}

  get markup(): string {
    return escapeText(this.text);
  }
}

/** An element and its children, rendered as markup. */
export class SvgElement {
  parentNode: SvgElement | null = null;
  readonly childNodes: (SvgElement | TextNode)[] = [];
  readonly #attributes = new Map<string, string>();
  readonly style = {
    setProperty: (name: string, value: string) => this.setAttribute(name, value),
    removeProperty: (name: string) => this.removeAttribute(name),
  };

  constructor(
    readonly ownerDocument: SvgDocument,
    readonly namespaceURI: string,
    readonly tagName: string,
  ) {}

  getAttribute(name: string): string | null {
    return this.#attributes.get(name) ?? null;
  }
  setAttribute(name: string, value: unknown): void {
    this.#attributes.set(name, String(value));
  }
  setAttributeNS(_: string, name: string, value: unknown): void {
    this.setAttribute(name, value);
  }
  removeAttribute(name: string): void {
    this.#attributes.delete(name);
  }
  addEventListener(): void {} // a static image has no events

  get firstChild(): SvgElement | TextNode | null {
    return this.childNodes[0] ?? null;
  }
  set textContent(text: unknown) {
    this.childNodes.length = 0;
    this.append(String(text ?? ''));
  }
  append(...nodes: (SvgElement | TextNode | string)[]): void {
    for (const node of nodes)
      this.appendChild(typeof node === 'string' ? new TextNode(node) : node);
  }
  appendChild<T extends SvgElement | TextNode>(node: T): T {
    return this.insertBefore(node, null);
  }
  insertBefore<T extends SvgElement | TextNode>(node: T, next: SvgElement | TextNode | null): T {
    node.parentNode?.removeChild(node);
    const at = next === null ? this.childNodes.length : this.childNodes.indexOf(next);
    this.childNodes.splice(at, 0, node);
    node.parentNode = this;
    return node;
  }
  removeChild<T extends SvgElement | TextNode>(node: T): T {
    this.childNodes.splice(this.childNodes.indexOf(node), 1);
    node.parentNode = null;
    return node;
  }

  get markup(): string {
    if (this.tagName === 'style') return ''; // the page has its own style
    const attributes = [...this.#attributes].map(([name, value]) => ` ${name}="${tidy(value)}"`);
    const children = this.childNodes.map((node) => node.markup);
    return `<${this.tagName}${attributes.join('')}>${children.join('')}</${this.tagName}>`;
  }
}

class SvgDocument {
  readonly defaultView = {};
  readonly documentElement = this.createElement('html');

  createElement(tagName: string): SvgElement {
    return this.createElementNS('http://www.w3.org/1999/xhtml', tagName);
  }
  createElementNS(namespace: string, tagName: string): SvgElement {
    return new SvgElement(this, namespace, tagName);
  }
  createTextNode(text: string): TextNode {
    return new TextNode(text);
  }
}

// Rounds coordinates: a hundredth of a pixel is enough.
function tidy(value: string): string {
  return escapeText(value.replace(/\d+\.\d{3,}/g, (number) => String(+(+number).toFixed(2))));
}

/** A document to draw in without a browser. */
export function svgDocument(): SvgDocument {
  return new SvgDocument();
}

/** Draws an image. `name` describes it for screen readers; without a name it is decorative. */
export function draw(options: PlotOptions, name?: string): Html {
  const document = svgDocument() as unknown as NonNullable<PlotOptions['document']>;
  const svg = plot({ ...options, document }) as unknown as SvgElement;
  if (name === undefined) svg.setAttribute('aria-hidden', 'true');
  else {
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', name);
  }
  return new Html(svg.markup);
}
