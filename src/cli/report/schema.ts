import * as v from '../../vendor/valibot.js';
import { RESULT_FORMAT, RESULT_VERSION, type Result } from '../shared/result.js';

const amount = v.pipe(v.number(), v.minValue(0));
const count = v.pipe(amount, v.integer());
const date = v.pipe(
  v.string(),
  v.check((text) => !Number.isNaN(Date.parse(text)), 'Invalid date'),
);

const doer = v.picklist(['device', 'emulated']);

const header = {
  format: v.literal(RESULT_FORMAT),
  version: v.literal(RESULT_VERSION),
  command: v.string(),
  arguments: v.array(v.string()),
  startedAt: date,
  label: v.exactOptional(v.string()),
  software: v.object({
    package: v.string(),
    libfabric: v.string(),
    node: v.string(),
    kernel: v.string(),
  }),
  device: v.object({
    provider: v.string(),
    fabric: v.string(),
    domain: v.string(),
    endpointType: v.string(),
    protocol: v.string(),
    software: v.boolean(),
    rdma: v.exactOptional(v.object({ reads: doer, writes: doer })),
  }),
  warnings: v.array(v.string()),
};

const nics = v.array(v.object({ name: v.string(), megabytesPerSecond: amount }));

const rails = v.array(
  v.object({
    name: v.string(),
    bytes: count,
    slices: count,
    repeats: count,
    retries: count,
    failures: count,
  }),
);

const railTimeline = v.pipe(
  v.object({ milliseconds: v.array(amount), megabytesPerSecond: v.array(v.array(amount)) }),
  v.check(
    ({ milliseconds, megabytesPerSecond }) =>
      megabytesPerSecond.every(({ length }) => length === milliseconds.length),
    'every rail must have a value for each of milliseconds',
  ),
);

/** The figures of one size. */
export const row = v.object({
  size: count,
  iterations: count,
  transfersPerIteration: v.pipe(v.number(), v.minValue(1)),
  seconds: amount,
  megabytesPerSecond: amount,
  microsecondsPerTransfer: amount,
  latency: v.exactOptional(v.object({ p50: amount, p99: amount, p999: amount, max: amount })),
  bandwidthSlices: v.exactOptional(v.array(amount)),
  cpu: v.exactOptional(v.object({ own: amount, peer: v.exactOptional(amount) })),
  nics: v.exactOptional(nics),
  slices: v.exactOptional(v.object({ p50: amount, p99: amount })),
  rails: v.exactOptional(rails),
  railTimeline: v.exactOptional(railTimeline),
  counters: v.exactOptional(v.record(v.string(), v.number())),
});

const options = v.looseObject({ window: v.exactOptional(count), verify: v.boolean() });

const benchmark = v.object({
  ...header,
  kind: v.literal('benchmark'),
  role: v.picklist(['client', 'server']),
  operation: v.exactOptional(v.string()),
  options,
  rows: v.array(row),
});

const matrix = v.object({
  ...header,
  kind: v.literal('matrix'),
  ranks: v.array(v.object({ rank: count, host: v.string(), machine: v.exactOptional(count) })),
  size: count,
  metric: v.picklist(['MB/s', 'us']),
  values: v.array(v.array(v.nullable(amount))),
  operation: v.exactOptional(v.string()),
  options: v.exactOptional(options),
  totalMegabytesPerSecond: v.exactOptional(amount),
  nics: v.exactOptional(nics),
});

const isSquare = ({ ranks, values }: v.InferOutput<typeof matrix>) =>
  values.length === ranks.length && values.every((row) => row.length === ranks.length);

const result: v.GenericSchema<unknown, Result> = v.variant('kind', [
  benchmark,
  v.pipe(matrix, v.check(isSquare, 'values must have a row and a column for each of ranks')),
]);

/** Checks that JSON is a result of this package. Throws an Error that says which field is wrong. */
export function parseResult(json: unknown): Result {
  const { format, version } = (json ?? {}) as Partial<Result>;
  if (format !== RESULT_FORMAT) {
    throw new Error(`not a result of a benchmark: format is not '${RESULT_FORMAT}'`);
  }
  if (version !== RESULT_VERSION) {
    const found = JSON.stringify(version);
    throw new Error(`version ${found} of the format; this package reads ${RESULT_VERSION}`);
  }
  const checked = v.safeParse(result, json);
  if (checked.success) return checked.output;
  const { path = [], message } = checked.issues[0];
  const field = path.map(({ key }) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  throw new Error(field === '' ? message : `${field.slice(1)}: ${message}`);
}
