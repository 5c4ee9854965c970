// A process that runs a program once for each plan that its parent sends, and reports its outcome and the resources
// that it left (arguments: program, options as JSON, the layer whose calls fail). Its parent preloads the injector of
// libfabric's calls.
import { dumpState, FabricError } from 'libfabric';
import { keptBy } from '../../ends/limits.mjs';
import { holdings, more } from '../../ends/residue.mjs';
import { Injector } from '../injector/injector.mjs';
import { ERRORS } from './errors.mjs';
import { PROGRAMS } from './programs.mjs';
import { VerbsInjector } from './verbs.mjs';

const CLEANUP_LIMIT = 2000; // ms within which closed resources must be gone

const [program, text, layer, cold] = process.argv.slice(2);
const options = JSON.parse(text);
const injector =
  layer === 'verbs' ? new VerbsInjector() : new Injector(process.env.LIBFABRIC_FAULTS);
process.on('uncaughtException', (error) => {
  process.send({ uncaught: String(error.stack) });
});
process.on('message', async (plan) => process.send(await outcomeOf(plan)));
process.on('disconnect', () => process.exit());

// The provider allocates its process-wide resources now, unless this is to fail.
for (let i = 0; i < 2 && !cold; i++) await PROGRAMS[program](options);
process.send({ ready: true });

async function outcomeOf(plan) {
  const parked = dumpState().parked.length;
  const before = holdings();
  injector.reset();
  if (plan.kind) injector.fail(plan.kind, plan.first, plan.error, plan.times);
  let error;
  try {
    await PROGRAMS[program](options);
  } catch (thrown) {
    error = described(thrown);
  }
  const kinds = Object.keys(ERRORS[layer]);
  const counts = Object.fromEntries(kinds.map((kind) => [kind, injector.counts(kind)]));
  injector.reset();
  return {
    error,
    counts,
    left: cold ? [] : await leftovers(before),
    parked: dumpState().parked.length - parked,
  };
}

const codesOf = (error) =>
  error === undefined
    ? []
    : [error.code, ...codesOf(error.cause), ...(error.errors ?? []).flatMap(codesOf)];

const described = (error) => ({
  code: error.code,
  codes: [error, ...(error.others ?? [])].flatMap(codesOf),
  typed: FabricError.is(error) || /^ERR_/.test(error.code ?? ''),
  stack: error.stack,
});

async function leftovers(before) {
  const end = performance.now() + CLEANUP_LIMIT;
  for (;;) {
    const left = more(before, holdings()).filter((what) => !keptBy(options, what));
    if (left.length === 0 || dumpState().parked.length > 0 || performance.now() > end) return left;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
