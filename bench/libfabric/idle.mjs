// Measures the CPU time of an idle endpoint, in percent of a core, with one process.
import { setTimeout as delay } from 'node:timers/promises';
import { reportValue } from '../side.mjs';
import { openEndpoint, side } from './runner.mjs';

const SETTLE_MS = 500;
const MEASURE_MS = 3000;

const ep = await openEndpoint();
await delay(SETTLE_MS);
const before = process.cpuUsage();
const start = process.hrtime.bigint();
await delay(MEASURE_MS);
const used = process.cpuUsage(before);
const us = Number(process.hrtime.bigint() - start) / 1e3;
reportValue({
  loop: `idle-${side.driver}`,
  value: ((used.user + used.system) / us) * 100,
  unit: '%',
});
await ep.close();
