// A service that gets libfabric host by host: each side has it or has it not. Without it, plain TCP is used on both sides.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { casesOf } from '../support/cases.js';

const program = new URL('../programs/net-rollout.mjs', import.meta.url);

const WITH = {};
const WITHOUT = { LIBFABRIC_ADDON_DIR: '/nonexistent' };

function start(env: object, workerData: object): Worker {
  const worker = new Worker(program, {
    env: { ...process.env, ...env } as NodeJS.ProcessEnv,
    workerData: { options: { provider: 'shm' }, ...workerData },
  });
  onTestFinished(() => void worker.terminate());
  return worker;
}

const FALLBACK = 'LIBFABRIC_NET_FALLBACK';
const NO_FABRIC = { provider: 'none' };

interface Expected {
  readonly fallback?: string;
  /** What carries the requests of an agent. */
  readonly web: string;
  /** Warnings of the server and of the client: once for each reason. */
  readonly warnings: [server: number, client: number];
}

const cases: [string, server: object, client: object, options: object, Expected][] = [
  ['both sides have libfabric', WITH, WITH, {}, { web: 'FabricSocket', warnings: [0, 0] }],
  [
    'the server has none',
    WITHOUT,
    WITH,
    {},
    { fallback: 'EPROTONOSUPPORT', web: 'Socket', warnings: [1, 2] },
  ],
  [
    'the client has none',
    WITH,
    WITHOUT,
    {},
    { fallback: 'ERR_ADDON_NOT_FOUND', web: 'Socket', warnings: [1, 1] },
  ],
  [
    'no side has any',
    WITHOUT,
    WITHOUT,
    {},
    { fallback: 'ERR_ADDON_NOT_FOUND', web: 'Socket', warnings: [1, 1] },
  ],
  [
    'no side has the fabric',
    WITH,
    WITH,
    { options: NO_FABRIC },
    { fallback: 'FI_ENODATA', web: 'FabricSocket', warnings: [1, 1] },
  ],
];

// In the tier `quick`, both, and each side without libfabric.
const isQuick = ([name]: (typeof cases)[number]) => !name.startsWith('no side');

describe.each(casesOf(cases, isQuick))(
  '%s',
  (_name, ofServer, ofClient, more, { fallback, web, warnings }) => {
    test('sockets, messages, upgraded connections and requests carry the same bytes', async () => {
      const server = start(ofServer, { role: 'server', ...more });
      const [ports] = await once(server, 'message');
      const client = start(ofClient, { role: 'client', ports, ...more });
      const [{ warnings: ofClientSide, ...found }] = await once(client, 'message');
      expect(found).toEqual({
        echoed: [true, true, true, true],
        paths: new Array(4).fill(fallback ? 'control' : 'shm'),
        ...(fallback && { fallback }),
        messages: [1, 0, 100_000],
        upgraded: true,
        web: [web, true, web],
        required: fallback ?? 'connected',
      });
      server.postMessage('end');
      const [ofServerSide] = await once(server, 'message');
      expect([ofServerSide, ofClientSide]).toEqual(
        warnings.map((count) => new Array(count).fill(FALLBACK)),
      );
    });
  },
);

test('a side that requires the fabric fails without libfabric, as soon as it is asked for', async () => {
  const options = { provider: 'shm', require: 'fabric' };
  const worker = start(WITHOUT, { role: 'required', options });
  const [found] = await once(worker, 'message');
  const code = 'ERR_ADDON_NOT_FOUND';
  expect(found).toEqual({ attach: code, createServer: code, connect: code, agent: code });
});
