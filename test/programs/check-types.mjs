// Prints the errors of TypeScript in a project, a line each, but not those in @types/node and in TypeScript's own libraries.
// node check-types.mjs TYPESCRIPT PROJECT: the folder of a TypeScript, and a folder with a tsconfig.json.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [, , typescript, project] = process.argv;
const isForeign = /node_modules\/(@types|undici-types|@?typescript[\w.-]*)\//;

/** The declarations of TypeScript and @types/node are not checked, which takes most of the time. */
function check(ts) {
  const path = join(project, 'tsconfig.json');
  const { config } = ts.readConfigFile(path, ts.sys.readFile);
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, project, {}, path);
  const { options, fileNames, errors } = parsed;
  const program = ts.createProgram(fileNames, options);
  const own = program.getSourceFiles().filter(({ fileName }) => !isForeign.test(fileName));
  const found = [
    ...errors,
    ...program.getOptionsDiagnostics(),
    ...own.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]),
  ];
  return found.map(({ file, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, '\n');
    return `${file?.fileName ?? 'tsconfig.json'}: ${text.split('\n')[0]}`;
  });
}

/** TypeScript 7 is a program without an interface for JavaScript. */
function run(tsc) {
  const { stdout, error } = spawnSync(process.execPath, [tsc, '-p', project], { encoding: 'utf8' });
  if (error) throw error;
  return stdout.split('\n').filter((line) => /error TS\d+/.test(line) && !isForeign.test(line));
}

const module = join(typescript, 'lib/typescript.js');
const errors = existsSync(module)
  ? check(createRequire(import.meta.url)(module))
  : run(join(typescript, 'lib/tsc.js'));
for (const error of errors) console.log(error);
