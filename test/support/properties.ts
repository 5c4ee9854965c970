// Properties that must hold for arbitrary values: fast-check. `npm run suite -- fuzz` repeats them for longer, with other seeds.
import fc from 'fast-check';
import { seed } from './seed.js';

const USUAL_RUNS = 200;

const seconds = Number(process.env.LIBFABRIC_FUZZ_SECONDS ?? 0);
const fuzzRuns = Number(process.env.LIBFABRIC_FUZZ_RUNS ?? 0);

/** How often a property is checked: for a time or a number of runs when fuzzing, else `runs` times. */
export function howOften<T>(runs = USUAL_RUNS): fc.Parameters<T> {
  return {
    ...(seconds > 0
      ? {
          numRuns: 2 ** 31 - 1,
          interruptAfterTimeLimit: seconds * 1000,
          markInterruptAsFailure: false,
        }
      : { numRuns: fuzzRuns || runs }),
    seed,
  };
}

/** Fails with the seed and the smallest values for which the property does not hold. */
export function holds<T>(property: fc.IProperty<T>, runs?: number): void {
  const details = fc.check(property, howOften<T>(runs));
  if (details.failed) throw new Error(fc.defaultReportMessage(details));
  if (seconds > 0 || fuzzRuns > 0) console.log(`${details.numRuns} runs`);
}

/** Whether a function throws a TypeError with this code, and nothing else. Its result otherwise. */
export function resultOrRefusal<T>(run: () => T, code = 'ERR_INVALID_ARG_VALUE'): T | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof TypeError && (error as NodeJS.ErrnoException).code === code) return;
    throw error;
  }
}
