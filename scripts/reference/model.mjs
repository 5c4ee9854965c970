// The reference's data of an export, read from the sources by the compiler: its signatures, its members, their
// comments and what they throw.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const MODULES = {
  libfabric: 'src/index.ts',
  'libfabric/efa': 'src/efa/index.ts',
  'libfabric/softefa': 'src/softefa/index.ts',
  'libfabric/transfer': 'src/transfer/index.ts',
  'libfabric/http': 'src/http/index.ts',
  'libfabric/directory': 'src/directory/index.ts',
  'libfabric/net': 'src/net/index.ts',
  'libfabric/objects': 'src/objects/index.ts',
  'libfabric/verbs': 'src/verbs/index.ts',
  'libfabric/cuda': 'src/cuda/index.ts',
  'libfabric/neuron': 'src/neuron/index.ts',
  'libfabric/cli-types': 'src/cli/types.ts',
};
const FORMAT =
  ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;

/** The exports of the package's modules, and types written as text in terms of the main module. */
export class Model {
  #checker;
  #shapes;
  modules = new Map();

  constructor(root, shapes) {
    const file = join(root, 'src/reference-shapes.ts'); // exists only in the compiler's memory
    const names = [...new Set(shapes.map((shape) => shape.match(/^\w+/)[0]))];
    const text = [
      `import type { ${names.join(', ')} } from './index.js';`,
      ...shapes.map((shape, at) => `export declare const shape${at}: ${shape};`),
    ].join('\n');
    const program = programWith(root, file, text);
    this.#checker = program.getTypeChecker();
    const exportsOf = (path) =>
      this.#checker.getExportsOfModule(
        this.#checker.getSymbolAtLocation(program.getSourceFile(path)),
      );
    for (const [name, path] of Object.entries(MODULES)) {
      const symbols = exportsOf(join(root, path)).map((symbol) => [
        symbol.name,
        this.#target(symbol),
      ]);
      this.modules.set(name, new Map(symbols));
    }
    const declared = exportsOf(file);
    this.#shapes = new Map(
      shapes.map((shape, at) => [shape, this.#checker.getTypeOfSymbol(declared[at])]),
    );
  }

  // A re-export leads to the symbol that it names.
  #target(symbol) {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  /** The kind of an export, its comment and its members. */
  describe(symbol) {
    const [declaration] = symbol.declarations;
    const about = this.#comment(symbol);
    const { name } = symbol;
    if (ts.isClassDeclaration(declaration)) {
      const constructed = this.#checker.getTypeOfSymbolAtLocation(symbol, declaration);
      const statics = constructed.getProperties().filter((member) => member.name !== 'prototype');
      return {
        ...{ ...about, name, kind: 'class', creation: this.#creation(constructed) },
        statics: this.#members(statics),
        members: this.#members(this.#checker.getDeclaredTypeOfSymbol(symbol).getProperties()),
      };
    }
    if (ts.isInterfaceDeclaration(declaration)) {
      const type = this.#checker.getDeclaredTypeOfSymbol(symbol);
      return { ...about, name, kind: 'interface', members: this.#members(type.getProperties()) };
    }
    if (ts.isFunctionDeclaration(declaration)) {
      return { ...about, name, kind: 'function', signatures: headsOf(symbol) };
    }
    if (ts.isTypeAliasDeclaration(declaration)) {
      const text = declaration.getText().replace(/^export (declare )?/, '');
      return { ...about, name, kind: 'alias', text };
    }
    const type = this.#checker.getTypeOfSymbolAtLocation(symbol, declaration);
    return {
      ...about,
      name,
      kind: 'variable',
      type: this.#checker.typeToString(type, undefined, FORMAT),
    };
  }

  /** The members of a type that is written as text. */
  membersOf(shape) {
    return this.#members(this.#shapes.get(shape).getProperties());
  }

  // A constructor that users may call.
  #creation(constructed) {
    return constructed
      .getConstructSignatures()
      .filter(
        ({ declaration }) => declaration && !isInternal(declaration) && !isHidden(declaration),
      )
      .map((signature) => this.#print(constructed.symbol.name, signature))
      .map((text) => `new ${text.replace(/^constructor/, constructed.symbol.name)}`);
  }

  #members(symbols) {
    return symbols.filter(isPublic).map((symbol) => {
      const [declaration] = symbol.declarations;
      const type = this.#checker.getTypeOfSymbol(symbol);
      const name = symbol.name.replace(/^__@(\w+)@\d+$/, '[Symbol.$1]');
      const optional = Boolean(symbol.flags & ts.SymbolFlags.Optional);
      const called = this.#checker.getNonNullableType(type); // an optional method may be undefined
      const isMethod = optional
        ? ts.isMethodSignature(declaration)
        : !ts.isPropertySignature(declaration);
      const isCall = isMethod && called.getCallSignatures().length > 0;
      return {
        ...this.#comment(symbol),
        ...{ name, optional, parent: parentOf(declaration) },
        ...(isCall
          ? { signatures: this.#signatures(name, called) }
          : { type: this.#typeText(declaration, type), writable: isWritable(symbol) }),
      };
    });
  }

  // Types of fields as the sources write them, because the compiler writes aliases out.
  #typeText(declaration, type) {
    if (declaration.type && !declaration.type.getText().match(/\b[A-Z]\b/)) {
      return declaration.type.getText().replace(/\s+/g, ' ');
    }
    return this.#checker.typeToString(type, undefined, FORMAT);
  }

  #signatures(name, type) {
    return type.getCallSignatures().map((signature) => this.#print(name, signature));
  }

  // As the sources write it, unless that depends on a type parameter of the declaring interface.
  #print(name, signature) {
    const written = signature.declaration && headOf(signature.declaration);
    if (written && !/\b[A-Z]\b/.test(written)) return written;
    const text = this.#checker.signatureToString(signature, undefined, FORMAT);
    return name + text.replaceAll(/(\w\?: [^,)]*) \| undefined(?=[,)])/g, '$1');
  }

  #comment(symbol) {
    const tags = symbol.getJsDocTags(this.#checker);
    const texts = (name) =>
      tags.filter((tag) => tag.name === name).map(({ text }) => linked(text ?? []));
    return {
      summary: linked(symbol.getDocumentationComment(this.#checker)),
      throws: texts('throws'),
      examples: texts('example'),
      deprecated: texts('deprecated')[0],
    };
  }
}

function programWith(root, file, text) {
  const config = ts.readConfigFile(join(root, 'tsconfig.json'), (path) =>
    readFileSync(path, 'utf8'),
  );
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.getSourceFile = (path, ...rest) =>
    path === file
      ? ts.createSourceFile(path, text, ts.ScriptTarget.ES2023)
      : getSourceFile.call(host, path, ...rest);
  host.fileExists = (path) => path === file || fileExists.call(host, path);
  const roots = [...Object.values(MODULES).map((path) => join(root, path)), file];
  return ts.createProgram(roots, options, host);
}

// A function or method as the sources declare it, without its body.
function headOf(declaration) {
  const { text } = declaration.getSourceFile();
  const end = declaration.body?.getStart() ?? declaration.getEnd();
  const head = text.slice((declaration.name ?? declaration).getStart(), end);
  return head
    .trim()
    .replace(/;$/, '')
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll(/([([<]) | (?=[)\]>])/g, '$1')
    .replaceAll(/,(?=[)>])/g, '');
}

// Overloads hide the declaration that implements them.
function headsOf(symbol) {
  const functions = symbol.declarations.filter(ts.isFunctionDeclaration);
  const overloads = functions.filter(({ body }) => !body);
  return (overloads.length > 0 ? overloads : functions).map(headOf);
}

// Links stay as {@link NAME}; the page that shows the text resolves them.
const linked = (parts) =>
  parts
    .map(({ text }) => text)
    .join('')
    .trim();

const isInternal = (declaration) =>
  ts.getJSDocTags(declaration).some(({ tagName }) => tagName.text === 'internal');

function isPublic(symbol) {
  const [declaration] = symbol.declarations ?? [];
  if (!declaration || symbol.name.startsWith('#') || isInternal(declaration)) return false;
  if (declaration.getSourceFile().fileName.includes('/node_modules/')) return false;
  return !isHidden(declaration);
}

const isHidden = (declaration) =>
  (ts.getCombinedModifierFlags(declaration) &
    (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !==
  0;

const isWritable = (symbol) =>
  symbol.declarations.every(
    (declaration) =>
      !ts.isGetAccessor(declaration) &&
      (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Readonly) === 0,
  );

// The class, interface or alias that declares a member.
function parentOf(declaration) {
  let at = declaration.parent;
  while (at && !at.name) at = at.parent;
  return at?.name?.text;
}
