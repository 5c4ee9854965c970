// `npm run suite -- faults calls|verbs [--program NAME] [--provider NAME] [--driver NAME] [--kind NAME] [--first N]
// [--error CODE] [--quick]`. Program, provider, driver and kind may be repeated. With --quick each call fails with one
// error, not with all of its kind.
import { randomBytes } from 'node:crypto';
import { count, oneOf, programOptions } from '../../../scripts/options.mjs';
import { environmentOf, optionsOf, PROVIDERS } from './conditions.mjs';
import { PROGRAMS } from './programs.mjs';
import { walk } from './walk.mjs';

const NAMES = Object.keys(PROGRAMS);
const DRIVERS = ['thread', 'loop', 'manual'];

const values = programOptions({
  program: { value: 'NAME', read: oneOf(NAMES), multiple: true, default: NAMES },
  layer: { value: 'NAME', read: oneOf(['libfabric', 'verbs']), default: 'libfabric' },
  provider: { value: 'NAME', read: oneOf(PROVIDERS), multiple: true },
  driver: {
    ...{ value: 'NAME', read: oneOf(DRIVERS), multiple: true },
    default: ['thread', 'manual'],
  },
  kind: { value: 'NAME', multiple: true },
  first: { value: 'N', read: count() },
  error: { value: 'CODE' },
  quick: {},
});

const namespace = `calls-${randomBytes(4).toString('hex')}`;
const { layer, error } = values;
const providers = values.provider ?? (layer === 'verbs' ? ['efa'] : PROVIDERS);
const only = values.kind && {
  kinds: values.kind,
  error,
  first: values.first,
};
const sum = { runs: 0, injected: 0, recovered: 0, known: 0, failed: 0 };

for (const program of values.program) {
  for (const provider of providers) {
    // Transfers have drivers of their own.
    for (const driver of program === 'transfer' ? ['thread'] : values.driver) {
      const began = performance.now();
      const report = (failure) => {
        sum.failed++;
        const { kind, first, error } = failure;
        const again = `--program ${program} --provider ${provider} --driver ${driver} --kind ${kind}`;
        console.log(`failed: call ${first} of ${kind} with ${error}: ${failure.problem}`);
        console.log(
          `  again: npm run suite -- faults ${layer === 'verbs' ? layer : 'calls'} ${again} --first ${first} --error ${error}`,
        );
      };
      const options = optionsOf(program, provider, driver);
      const found = await walk(
        program,
        options,
        environmentOf(namespace),
        { layer, all: !values.quick, only },
        report,
      );
      for (const name of ['runs', 'injected', 'recovered', 'known']) sum[name] += found[name];
      const seconds = ((performance.now() - began) / 1000).toFixed();
      console.log(
        `${program} over ${provider}, ${driver}: ${found.injected} calls failed, ${seconds} s`,
      );
    }
  }
}
console.log(
  `${sum.injected} calls failed in ${sum.runs} runs; ${sum.recovered} runs succeeded nevertheless`,
);
if (sum.known > 0) console.log(`${sum.known} runs ended as test/ends/limits.mjs says`);
console.log(`${sum.runs - sum.failed} passed, ${sum.failed} failed`);
process.exitCode = sum.failed > 0 ? 1 : 0;
