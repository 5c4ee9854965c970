// The members that declarations of the package have, without those that are internal.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../../dist', import.meta.url));
const CLASS = /export declare (?:abstract )?class (\w+)[\s\S]*?\n\}(?!>)/g;
// Four spaces, and no more: members of the class itself.
const METHOD = /^ {4}(\w+|\[Symbol\.\w+\])(?:<.*>)?\(/gm;

const isDeclaration = (name: string) => name.endsWith('.d.ts') && !name.startsWith('cli/');

const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(isDeclaration);

/** The functions that return promises, as declarations of the package say. */
export const functionsWithPromises = new Set<string>();
const FUNCTION = /^export declare function (\w+).*: Promise<[^:]*>;$/gm;

const methods = new Map<string, Set<string>>();
const promising = new Map<string, Set<string>>();
for (const file of files) {
  for (const [, name] of readFileSync(join(dist, file), 'utf8').matchAll(FUNCTION))
    functionsWithPromises.add(name as string);
  for (const [text, name] of readFileSync(join(dist, file), 'utf8').matchAll(CLASS)) {
    const found = [...text.matchAll(METHOD)].map(([, method]) => method as string);
    const known = methods.get(name as string) ?? new Set<string>();
    methods.set(name as string, new Set([...known, ...found]));
    promising.set(
      name as string,
      new Set([...(promising.get(name as string) ?? []), ...promisingIn(text)]),
    );
  }
}

/** The methods in the text of a class that return promises. */
function promisingIn(text: string): string[] {
  const begins = [...text.matchAll(METHOD)];
  return begins.flatMap(({ 1: name, index }, i) => {
    const rest = text.slice(index, begins[i + 1]?.index).split('/**')[0] as string;
    return /\): Promise</.test(rest) ? [name as string] : [];
  });
}

/** Whether a method of an object returns a promise, as declarations of the package say. */
export function returnsPromise(object: object, method: string): boolean {
  for (let p = Object.getPrototypeOf(object); p !== null; p = Object.getPrototypeOf(p))
    if (promising.get(p.constructor.name)?.has(method)) return true;
  return false;
}

/** The methods of an object that declarations of the package name, from the class of the object upwards. */
export function methodsOf(object: object): string[] {
  const names = new Set<string>();
  let prototype = Object.getPrototypeOf(object) as object | null;
  while (prototype !== null && prototype !== Object.prototype) {
    for (const name of methods.get(prototype.constructor.name) ?? []) names.add(name);
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  names.delete('constructor');
  return [...names];
}
