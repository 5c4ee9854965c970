// Two processes for the transfer benchmarks, one core each: this one, and bench/transfer/peer.mjs.
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { open } from 'libfabric';
import { softefaEnvironment } from 'libfabric/softefa';
import { TransferEngine } from 'libfabric/transfer';

/** Moves a process and its threads to one core, if there are several. */
function pin(pid, core) {
  if (availableParallelism() < 2) return;
  execFileSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' });
}

const environmentOf = (node, namespace) => ({
  ...process.env,
  FI_EFA_ENABLE_SHM_TRANSFER: '0',
  ...softefaEnvironment({ namespace, nics: 4, node, memlock: 'unlimited', keep: false }),
});

/** The environment of this process, and of its peer. softefa must be loaded before libfabric. */
export const environments = (namespace) => [0, 1].map((node) => environmentOf(node, namespace));

export async function openPair(provider, rails, size, namespace) {
  const program = fileURLToPath(new URL('peer.mjs', import.meta.url));
  const env = provider === 'efa' ? environmentOf(1, namespace) : process.env;
  const child = fork(program, [provider, String(rails), String(size)], { env });
  await once(child, 'message');
  const waiting = new Map();
  let next = 0;
  child.on('message', ([id, result]) => {
    waiting.get(id)(result);
    waiting.delete(id);
  });
  const ask = (command, argument = null) =>
    new Promise((resolve) => {
      waiting.set(++next, resolve);
      child.send([next, command, argument]);
    });
  const engine = await TransferEngine.open({ provider, nics: rails });
  const place = await engine.allocate(size);
  const endpoint = await open({ provider, caps: ['FI_MSG', 'FI_RMA'] });
  const region = await endpoint.domain.allocate(size, ['FI_WRITE', 'FI_REMOTE_WRITE']);
  const other = await ask('meet', {
    card: engine.card,
    address: Buffer.from(endpoint.address).toString('hex'),
    descriptor: Buffer.from(region.descriptor()).toString('hex'),
  });
  pin(process.pid, 0);
  pin(child.pid, 1);
  return {
    engine,
    place,
    endpoint,
    region,
    ask,
    remote: await engine.peer(other.card),
    peer: endpoint.av.insert(Buffer.from(other.address, 'hex')),
    remoteRegion: endpoint.domain.remote(Buffer.from(other.descriptor, 'hex')),
    async close() {
      await ask('end');
      await Promise.all([engine.close(), endpoint.close()]);
    },
  };
}

function elapsed() {
  const start = performance.now();
  return () => performance.now() - start;
}

/**
 * A transfer that can be repeated: each call of the result does it once and resolves to milliseconds. `clock` tells
 * the time before and after it.
 */
export async function repeated(pair, name, from, what, clock = elapsed) {
  const token = await pair.ask('offer', { name, ...what });
  const grant = pair.remote.grant(token);
  let transfer;
  return async () => {
    const took = clock();
    transfer = transfer ? transfer.again() : pair.remote.write(from, grant);
    await transfer;
    const result = took();
    await pair.ask('arrived', name);
    return result;
  };
}
