// A service that gets libfabric host by host: each side has it or has it not. Without it, plain TCP is used on both sides.
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';

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

describe.each([
  ['both sides have libfabric', WITH, WITH, undefined],
  ['the server has none', WITHOUT, WITH, 'EPROTONOSUPPORT'],
  ['the client has none', WITH, WITHOUT, 'ERR_ADDON_NOT_FOUND'],
  ['no side has any', WITHOUT, WITHOUT, 'ERR_ADDON_NOT_FOUND'],
])('%s', (_name, ofServer, ofClient, failure) => {
  test('sockets, messages, upgraded connections and requests carry the same bytes', async () => {
    const server = start(ofServer, { role: 'server' });
    const [ports] = await once(server, 'message');
    const client = start(ofClient, { role: 'client', ports });
    const [{ warnings, ...found }] = await once(client, 'message');
    const socket = failure ? 'Socket' : 'FabricSocket';
    expect(found).toEqual({
      echoed: [true, true, true, true],
      paths: new Array(4).fill(failure ? 'control' : 'shm'),
      ...(failure && { fallback: failure }),
      messages: [1, 0, 100_000],
      upgraded: true,
      web: [socket, true, socket],
      required: failure ?? 'connected',
    });
    // Once for each reason: sockets, and the server of HTTP.
    expect(warnings).toEqual(failure === undefined ? [] : warnings.slice(0, 2).fill(FALLBACK));
    server.postMessage('end');
    const [ofServerSide] = await once(server, 'message');
    expect(ofServerSide).toEqual(failure === undefined ? [] : [FALLBACK]);
  });
});
