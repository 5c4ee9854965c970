// `npm run bench -- objects`: objects of 64 KiB, through ObjectClient over each provider, through ObjectClient by HTTP, and
// through fetch(), from the same server in another process. Prints the median of the rounds, and the CPU time of the client.
//
//   npm run bench -- objects [--count 10000] [--size 65536] [--rounds 5] [--concurrency 1,8,32] [--provider shm,tcp]
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createObjectServer, ObjectClient } from '../dist/objects/index.js';
import { TransferEngine } from '../dist/transfer/index.js';

const engineOver = (provider) =>
  TransferEngine.open({ provider, ...(provider === 'tcp' && { node: '127.0.0.1' }) });

async function serve(provider, root) {
  const engine = await engineOver(provider);
  const server = await createObjectServer(root, { engine });
  process.send(await server.listen());
  process.once('disconnect', () => process.exit());
}

/** Rates of objects a second, and microseconds of CPU time for each. */
async function measure(get, count, concurrency) {
  for (let i = 0; i < 200; i++) await get(i % count);
  const cpu = process.cpuUsage();
  const start = performance.now();
  let next = 0;
  const work = async () => {
    while (next < count) await get(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { rate: count / seconds, cpu: (user + system) / count };
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

async function compare(provider, { root, count, rounds, concurrencies }) {
  const child = fork(fileURLToPath(import.meta.url), ['--serve', root, '--provider', provider]);
  const [url] = await once(child, 'message');
  const engine = await engineOver(provider);
  const over = new ObjectClient(`${url}/b`, { engine });
  const http = new ObjectClient(`${url}/b`);
  const ways = {
    'fetch()': async (i) => (await fetch(`${url}/b/${i}`)).arrayBuffer(),
    'ObjectClient, HTTP': (i) => http.get(String(i)),
    [`ObjectClient, ${provider}`]: (i) => over.get(String(i)),
  };
  for (const concurrency of concurrencies) {
    const results = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
    for (let round = 0; round < rounds; round++)
      for (const [name, get] of Object.entries(ways))
        results[name].push(await measure(get, count, concurrency));
    const rateOf = (name) => median(results[name].map(({ rate }) => rate));
    for (const name of Object.keys(ways)) {
      const times = (rateOf(name) / rateOf('fetch()')).toFixed(1);
      const cpu = median(results[name].map((each) => each.cpu)).toFixed(0);
      console.log(
        `${provider}, ${concurrency} at once: ${name.padEnd(19)} ${rateOf(name).toFixed(0).padStart(6)}/s  ${times}x  ${cpu} us CPU`,
      );
    }
  }
  await Promise.all([over.close(), http.close()]);
  await engine.close();
  child.disconnect();
  await once(child, 'exit');
}

const { values } = parseArgs({
  options: {
    serve: { type: 'string' },
    provider: { type: 'string', default: 'shm,tcp' },
    count: { type: 'string', default: '10000' },
    size: { type: 'string', default: '65536' },
    rounds: { type: 'string', default: '5' },
    concurrency: { type: 'string', default: '1,8,32' },
  },
});
if (values.serve) await serve(values.provider, values.serve);
else {
  const root = mkdtempSync(join(tmpdir(), 'bench-objects-'));
  const count = Number(values.count);
  mkdirSync(join(root, 'b'));
  try {
    for (let i = 0; i < count; i++)
      writeFileSync(join(root, 'b', String(i)), randomBytes(Number(values.size)));
    const rounds = Number(values.rounds);
    const concurrencies = values.concurrency.split(',').map(Number);
    for (const provider of values.provider.split(','))
      await compare(provider, { root, count, rounds, concurrencies });
  } finally {
    rmSync(root, { recursive: true });
  }
}
