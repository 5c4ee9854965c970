// Runs the steps of a program in turn. The last line is a tally.
import { setTimeout as sleep } from 'node:timers/promises';

const LIMIT = 30_000; // ms

/** @param steps functions by the names of what they prove. */
export async function run(steps) {
  const runtime = ['bun', 'deno', 'node'].find((name) => process.versions[name] !== undefined);
  const counts = { passed: 0, failed: 0 };
  for (const [name, step] of Object.entries(steps)) {
    const late = sleep(LIMIT, undefined, { ref: false }).then(() => {
      throw new Error(`${LIMIT} ms have passed`);
    });
    try {
      await Promise.race([step(), late]);
      counts.passed += 1;
    } catch (error) {
      counts.failed += 1;
      console.log(`failed: ${runtime} ${process.versions[runtime]}: ${name}: ${error.stack}`);
    }
  }
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exit(counts.failed === 0 ? 0 : 1);
}

/** Expects that a call throws an error with this code. */
export async function expectCode(code, call) {
  let thrown;
  try {
    await call();
  } catch (error) {
    thrown = error;
  }
  if (thrown?.code !== code) throw thrown ?? new Error(`nothing was thrown, not ${code}`);
}
