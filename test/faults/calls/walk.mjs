// Fails the first, second, ... call of each kind in a program, until the program makes no further call.
import { canBeParked, endsProcess } from '../../ends/limits.mjs';
import { ERRORS } from './errors.mjs';
import { Host } from './process.mjs';

/**
 * @typedef {object} Limits
 * @property {'libfabric' | 'verbs'} [layer] the layer whose calls fail; libfabric if omitted
 * @property {number} [most] the most calls of each kind
 * @property {boolean} [all] each call fails with all errors of its kind, instead of one in turn
 * @property {{ kinds: string[], first?: number | undefined, error?: string | undefined }} [only]
 */

/** @typedef {{ kind: string, first?: number, error?: string, problem: string }} Failure */

/** Of calls that are made continuously, this many fail, evenly spread. */
const POLLS = 50;

/** The calls with which a process opens its devices fail in processes of their own. */
const OPENING = { libfabric: [], verbs: ['query', 'creation'] };

/**
 * @param {string} program a name of PROGRAMS
 * @param {{ provider: string, driver: string }} options
 * @param {NodeJS.ProcessEnv} env
 * @param {Limits} limits
 * @param {(failure: Failure) => void} report
 * @returns the number of runs and of calls that failed
 */
export async function walk(program, options, env, limits, report) {
  const sum = { runs: 0, injected: 0, recovered: 0, known: 0 };
  const { layer = 'libfabric', most = Number.POSITIVE_INFINITY, all = false, only } = limits;
  const where = { ...options, program, layer };
  let host;
  let cold = false;
  const fresh = async () => {
    await host?.end();
    host = new Host(program, options, env, layer, cold);
    await host.ready();
  };
  const run = async (plan) => {
    try {
      sum.runs++;
      return await host.run(plan);
    } catch (error) {
      await fresh();
      return { problem: error.message };
    }
  };
  const fail = async (plan) => {
    if (cold) await fresh();
    const outcome = await run(plan);
    sum.injected += outcome.counts?.[plan.kind].failed ?? 1;
    if (outcome.problem === undefined && outcome.error === undefined) sum.recovered++;
    if (endsProcess(where, plan, outcome.problem)) {
      sum.known++;
      return;
    }
    for (const problem of problemsOf(where, plan, outcome)) report({ ...plan, problem });
    if (outcome.left?.length > 0 || outcome.parked > 0) await fresh();
  };
  const failEach = async (kind) => {
    const errors = only?.error ? [only.error] : ERRORS[layer][kind];
    if (cold) await fresh();
    const { counts } = await run({});
    const calls = Math.min(counts[kind].calls, most);
    const step = kind === 'poll' ? Math.ceil(calls / POLLS) : 1;
    for (let first = only?.first ?? 1; first <= (only?.first ?? calls); first += step) {
      const number = (first - 1) / step;
      for (const error of all ? errors : [errors[number % errors.length]]) {
        await fail({ kind, first, error, times: 1 });
      }
    }
    if (cold) return;
    const { problem, error } = await run({});
    const failed = problem ?? error?.stack;
    if (failed) report({ kind, problem: `afterwards it fails: ${failed}` });
  };
  try {
    const kinds = only?.kinds ?? Object.keys(ERRORS[layer]);
    await fresh();
    for (const kind of kinds) await failEach(kind);
    cold = true;
    for (const kind of OPENING[layer]) if (kinds.includes(kind)) await failEach(kind);
  } finally {
    await host?.end();
  }
  return sum;
}

function problemsOf(where, { kind, error: injected }, outcome) {
  const { problem, error, counts, left, parked } = outcome;
  if (problem !== undefined) return [problem];
  const problems = [];
  if (error && !error.typed) problems.push(`the error has no type: ${error.stack}`);
  else if (error && counts[kind].failed > 0 && !explains(error, where, kind, injected)) {
    problems.push(`the caller gets ${error.code}, not ${injected}: ${error.stack}`);
  }
  // Resources that a refused close leaves must be reported: by its error or dumpState(). A transfer engine does not
  // yet.
  const reported = parked > 0 || (kind === 'close' && (error || where.program === 'transfer'));
  const isKept = (what) => reported && canBeParked(what);
  for (const what of left.filter((one) => !isKept(one))) {
    problems.push(`leaves ${what.kind} ${what.name}: ${what.had} before, ${what.has} after`);
  }
  return problems;
}

/** The codes of calls to an endpoint that was closed because its queue cannot be read, on either side. */
const CLOSED = [
  ...['FI_EADDRNOTAVAIL', 'FI_ECANCELED', 'FI_EOPBADSTATE', 'ERR_CLOSED'],
  ...['FI_ECONNRESET', 'FI_ENOTCONN'],
];

const TIMED_OUT = 'FI_ETIMEDOUT';

/** Atomics over tcp end at their timeouts (docs/provider-limits.md). */
const endsLate = ({ program, provider }) => program === 'atomics' && provider === 'tcp';

/**
 * Whether an error, or one of its causes, is the injected one, or follows from it. The provider translates the errors of
 * verbs, so any error may follow from them, except the one for a failure that was not reported.
 */
function explains({ codes }, where, kind, injected) {
  if (where.layer === 'verbs')
    return !codes.every((code) => code === undefined || code === TIMED_OUT);
  const followsFrom = (code) =>
    kind === 'read' && (CLOSED.includes(code) || (code === TIMED_OUT && endsLate(where)));
  return codes.some((code) => code === injected || followsFrom(code));
}
