// Every `js` block of the documents type-checks, runs to its end and prints the text in its comments.
//
// A block with an import is a program. A block without one replaces the line `// HERE` of the program
// test/documents/NAME.mjs; a comment before the block, `<!-- within: NAME -->`, gives the name. A comment
// `// Prints: TEXT` is an expected line of output, in this order. If the output begins with `node FILE ...`,
// the test runs this command as the peer.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { softefaEnvironment } from 'libfabric/softefa';
import ts from 'typescript';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { type Block, blocksIn, root } from '../support/documents.js';
import { buildFakeNeuron, withFakeNeuron } from '../support/fake-neuron.js';
import { ownNamespace } from '../support/own-namespace.js';

const namespace = ownNamespace('documents');

const fakeNeuron = buildFakeNeuron();

const programs = blocksIn('js').map((block) => ({ ...block, file: fileOf(block) }));

// The folder is inside the package, so that programs can import it by name.
let folder: string;

import { settle } from '../support/settle.js';

const children: ChildProcess[] = [];

beforeAll(() => {
  const build = join(root, 'build');
  mkdirSync(build, { recursive: true });
  folder = mkdtempSync(join(build, 'documents-'));
  for (const program of programs) writeFileSync(join(folder, program.file), sourceOf(program));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
});

/** Returns the name in a program's first line, or a name made from its place. */
function fileOf({ code, place }: Block): string {
  return /^\/\/ (\S+\.mjs)/.exec(code)?.[1] ?? `${place.replace(/\W/g, '-')}.mjs`;
}

function sourceOf({ code, within }: Block): string {
  if (within === undefined) return code;
  const whole = readFileSync(join(root, `test/documents/${within}.mjs`), 'utf8');
  expect(whole).toContain('// HERE\n');
  return whole.replace('// HERE\n', () => code);
}

/** Starts a program of the folder. Returns its lines of output and its end. */
function start(args: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, stderr }));
  });
  return { line: async (): Promise<string | undefined> => (await lines.next()).value, ended };
}

type Program = ReturnType<typeof start>;

async function rest({ line }: Program): Promise<string[]> {
  const lines: string[] = [];
  for (let next = await line(); next !== undefined; next = await line()) lines.push(next);
  return lines;
}

// A program that calls loadSoftefa() must start without softefa. The Neuron runtime is a fake.
function environmentFor(source: string): NodeJS.ProcessEnv {
  const options = { namespace, memlock: 'unlimited' } as const;
  const { LD_PRELOAD, ...variables } = softefaEnvironment(options);
  const loads = source.includes('loadSoftefa(');
  return { ...withFakeNeuron(fakeNeuron), ...variables, ...(!loads && { LD_PRELOAD }) };
}

const CLEANLY = { code: 0, signal: null, stderr: '' };

const run = programs.filter(({ notRun }) => notRun === undefined);

test.each(casesOf(run, ({ place }) => place.startsWith('README')))(
  'the program at $place prints the lines of its comments',
  async (block) => {
    const env = environmentFor(sourceOf(block));
    const program = start([block.file], env);
    const both = [program];
    const first = await settle(program.line());
    const peer = /^node (\S+\.mjs .*)$/.exec(first ?? '')?.[1];
    if (peer !== undefined) both.push(start(peer.split(' '), env));
    const outputs = await settle(Promise.all(both.map(rest)));
    const lines = [first, ...outputs.flat()];
    for (const one of both) expect(await settle(one.ended), lines.join('\n')).toEqual(CLEANLY);

    const expected = [...block.code.matchAll(/\/\/ Prints: (.*)$/gm)].map((match) => match[1]);
    expect(lines.filter((line) => line !== undefined && expected.includes(line))).toEqual(expected);
  },
);

test('all programs type-check', () => {
  const options: ts.CompilerOptions = {
    allowJs: true,
    checkJs: true,
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2024.d.ts', 'lib.esnext.disposable.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
  };
  const files = programs.map(({ file }) => join(folder, file));
  const program = ts.createProgram(files, options);
  const problems = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0;
    const text = ts.flattenDiagnosticMessageText(messageText, '\n');
    return `${file?.fileName}:${line + 1}: ${text}`;
  });
  expect(problems).toEqual([]);
});

test('every partial block names its program, and program names are unique', () => {
  for (const { code, within, place } of programs) {
    expect(/^import /m.test(code) || within !== undefined, place).toBe(true);
  }
  const files = programs.map(({ file }) => file);
  expect(new Set(files).size).toBe(files.length);
});

// Lines with code, of the three programs of docs/for-node-developers.md.
const MOST_LINES = {
  'call-with-blobs.mjs': 30,
  'pages-of-a-cache.mjs': 30,
  'store-of-objects.mjs': 40,
};

test.each(Object.entries(MOST_LINES))('the program %s has at most %i lines', (name, most) => {
  const { code } = programs.find(({ file }) => file === name) as Block;
  const lines = code.split('\n').filter((line) => line !== '' && !line.startsWith('//'));
  expect(lines.length).toBeLessThanOrEqual(most);
});
