// The loop of the fuzzers in JavaScript: `node test/fuzz/NAME.mjs [--seconds N] [--runs N] [--seed N] [FILE]`. Without a FILE,
// which is an input that has failed, it runs changes of the known inputs. An input whose result is new is changed further.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { mutated, Random } from './mutations.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const SLOW = 1000; // ms. An input of 64 KiB takes a few.
const MAX_CORPUS = 10_000;

const OPTIONS = {
  seconds: { type: 'string' },
  runs: { type: 'string' },
  seed: { type: 'string', default: '1' },
};

function keptInputs(name) {
  const folder = `${root}test/fuzz/corpus/${name}`;
  try {
    return readdirSync(folder).map((file) => readFileSync(`${folder}/${file}`));
  } catch {
    return [];
  }
}

/**
 * Runs a fuzzer.
 *
 * @param execute gets an input. Resolves to a text for the kind of result; rejects, or throws at any time, if it has found a
 * defect.
 */
export async function fuzz(name, { seeds, words, execute }) {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  let input = Buffer.alloc(0);
  let isDone = false;
  const failed = (error) => {
    if (isDone) return;
    isDone = true;
    mkdirSync(`${root}build/fuzz`, { recursive: true });
    const file = `build/fuzz/${name}-failed`;
    writeFileSync(`${root}${file}`, input);
    console.log(`${error?.stack ?? error}\nagain: node test/fuzz/${name}.mjs ${file}`);
    process.exit(1);
  };
  process.on('uncaughtException', failed);
  process.on('unhandledRejection', failed);
  process.on('exit', () => failed('the input did not come to an end'));

  const run = async (bytes) => {
    input = bytes;
    const from = performance.now();
    const result = await execute(bytes);
    return { result, time: performance.now() - from };
  };
  /** A machine may be busy once, but not three times. */
  const checked = async (bytes) => {
    const first = await run(bytes);
    let { time } = first;
    for (let again = 0; again < 2 && time > SLOW; again++) time = (await run(bytes)).time;
    if (time > SLOW) throw new Error(`an input of ${bytes.length} bytes takes ${time} ms`);
    return first.result;
  };

  if (positionals.length > 0) {
    const result = await checked(readFileSync(positionals[0])).catch(failed);
    console.log(result);
    isDone = true;
    return;
  }
  // Half of the time would go to the stacks of errors that requests are refused with.
  Error.stackTraceLimit = 0;
  const random = new Random(Number(values.seed));
  const corpus = [...seeds.map((text) => Buffer.from(text, 'latin1')), ...keptInputs(name)];
  const known = { corpus, words: words.map((word) => Buffer.from(word, 'latin1')) };
  const seen = new Set();
  const from = performance.now();
  const until = from + 1000 * Number(values.seconds ?? (values.runs ? Infinity : 10));
  const runs = Number(values.runs ?? Infinity);
  let count = 0;
  try {
    for (const bytes of [...corpus]) {
      const first = await checked(bytes);
      if (!isDeepStrictEqual(await checked(bytes), first))
        throw new Error('the same input has another result');
      seen.add(first);
      count += 1;
    }
    for (; count < runs && performance.now() < until; count++) {
      const bytes = mutated(random, known);
      const result = await checked(bytes);
      if (seen.has(result) || corpus.length >= MAX_CORPUS) continue;
      seen.add(result);
      corpus.push(bytes);
    }
  } catch (error) {
    failed(error);
  }
  isDone = true;
  const seconds = (performance.now() - from) / 1000;
  const speed = Math.round(count / seconds).toLocaleString('en');
  console.log(
    `${name}: ${count.toLocaleString('en')} executions, ${speed} per second, ${seen.size} kinds of results`,
  );
  process.exit(0);
}
