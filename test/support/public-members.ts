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

const methods = new Map<string, Set<string>>();
for (const file of files) {
  for (const [text, name] of readFileSync(join(dist, file), 'utf8').matchAll(CLASS)) {
    const found = [...text.matchAll(METHOD)].map(([, method]) => method as string);
    const known = methods.get(name as string) ?? new Set<string>();
    methods.set(name as string, new Set([...known, ...found]));
  }
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
