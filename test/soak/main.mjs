// `npm run suite -- soak [--minutes 30] [--churn 100000] [--json FILE] [--picture FILE.svg] [--provider NAME]`
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { loadSoftefa, softefaEnvironment } from 'libfabric/softefa';
import { amount, count, oneOf, programOptions } from '../../scripts/options.mjs';
import { churn, NAMES } from './churn.mjs';
import { load } from './load.mjs';
import { pictureOf } from './picture.mjs';
import { LIMITS, sample, UNITS } from './sample.mjs';
import { FEWEST, trendOf } from './trend.mjs';

/** The share of the time in which caches and allocators reach their size. */
const WARM_UP = 0.4;
/** The number of descriptors, threads, registrations or files that may remain of all repetitions. */
const FEW = 5;

const PROVIDERS = ['tcp', 'shm', 'efa'];

const values = programOptions({
  minutes: { value: 'N', read: amount, default: 30 },
  churn: { value: 'N', read: count(), default: 0 },
  json: { value: 'FILE' },
  picture: { value: 'FILE' },
  provider: { value: 'NAME', read: oneOf(PROVIDERS), multiple: true, default: PROVIDERS },
});

const device = {
  namespace: `soak-${randomBytes(4).toString('hex')}`,
  keep: false,
  memlock: 'unlimited',
};
process.env.FI_EFA_ENABLE_SHM_TRANSFER = '0';
loadSoftefa(device);
const env = { ...process.env, ...softefaEnvironment(device) };

const length = values.minutes * 60_000;
const began = performance.now();
const goesOn = () => performance.now() - began < length;
const sum = { peers: 0, bytes: 0 };
const samples = [];
const delay = monitorEventLoopDelay({ resolution: 1 });
const save = (result) => {
  const all = { minutes: values.minutes, ...sum, ...result, samples };
  if (values.json) writeFileSync(values.json, JSON.stringify(all));
};
const interval = Math.max(200, Math.min(5000, length / 300));
delay.enable();
const sampling = setInterval(() => {
  samples.push({ time: (performance.now() - began) / 3_600_000, ...sample() });
  if (samples.length % 60 === 0) save({});
}, interval);
const loads = values.provider.map((provider) => load(provider, env, goesOn, sum));
await Promise.all(loads).finally(() => clearInterval(sampling));
delay.disable();
const ms = (nanoseconds) => Number((nanoseconds / 1e6).toFixed(1));
const eventLoop = {
  median: ms(delay.percentile(50)),
  p99: ms(delay.percentile(99)),
  max: ms(delay.max),
};

const after = samples.filter(({ time }) => time * 3_600_000 > length * WARM_UP);
const trends = {};
for (const [name, limit] of Object.entries(LIMITS)) {
  if (after.length < FEWEST) break;
  const trend = trendOf(after.map((one) => ({ time: one.time, value: one[name] })));
  trends[name] = { ...trend, limit, passed: trend.low <= limit };
  const [slope, low, high] = [trend.slope, trend.low, trend.high].map((x) => x.toFixed(1));
  const unit = UNITS[name] ?? '';
  console.log(`${name}: ${slope} ${unit} an hour (95 %: ${low} to ${high}), limit ${limit}`);
}

const churns = [];
const times = values.churn;
for (const thing of times > 0 ? NAMES : []) {
  for (const provider of values.provider) {
    const found = await churn(thing, provider, times, () => true);
    const passed = ['descriptors', 'threads', 'registrations', 'shared'].every(
      (name) => found[name] <= FEW,
    );
    churns.push({ ...found, passed });
    console.log(`${found.times} ${thing} of ${provider}: ${found.bytesEach} bytes each`);
  }
}

const all = [...Object.values(trends), ...churns];
const failed =
  all.filter(({ passed }) => !passed).length + (length > 0 && after.length < FEWEST ? 1 : 0);
save({ trends, churns, eventLoop });
if (values.picture && after.length >= FEWEST) {
  writeFileSync(values.picture, pictureOf({ samples, trends }, (length * WARM_UP) / 3_600_000));
}
console.log(`event loop: ${JSON.stringify(eventLoop)} ms late`);
console.log(`${sum.peers} peers, ${(sum.bytes / 1e9).toFixed(2)} GB, ${samples.length} samples`);
console.log(`${all.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
