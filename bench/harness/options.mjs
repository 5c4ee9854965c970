// The command line of a benchmark: [--rounds 7] [--only <regex of figures>] [--quick] [--fabtests DIR].
import { parseArgs } from 'node:util';

const ROUNDS = 7;
const QUICK = { rounds: 3, divisor: 4 };

/** The options as written and as numbers. `divisor` divides the iterations. */
export function benchOptions() {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string' },
      only: { type: 'string', default: '' },
      fabtests: { type: 'string' },
      quick: { type: 'boolean', default: false },
    },
  });
  return {
    options: values,
    rounds: Number(values.rounds ?? (values.quick ? QUICK.rounds : ROUNDS)),
    only: new RegExp(values.only),
    divisor: values.quick ? QUICK.divisor : 1,
  };
}
