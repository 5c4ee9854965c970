// Two processes for the transfer benchmarks, one core each: this one, and bench/transfer/peer.mjs.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';
import { environmentOf, pin } from '../harness/providers.mjs';

export const NICS = 4;

const hex = (bytes) => Buffer.from(bytes).toString('hex');

// For a process with many engines: the usual buffers of efa take 107 MB for each.
const SMALL_BUFFERS = { FI_EFA_RX_SIZE: '64', FI_EFA_TX_SIZE: '64' };

/** The options of an engine of a benchmark. */
export const optionsOf = (provider, nics, mapMemory = false) => ({
  provider,
  nics,
  mapMemory,
  ...(provider === 'tcp' && { node: '127.0.0.1' }),
});

/**
 * Opens an engine in this process and one in another process, with `size` bytes of memory each.
 * @param nics those of `TransferEngine.open()`
 * @param mapMemory that of `TransferEngine.open()`
 * @param plain also opens an endpoint with memory on each side
 * @param small whether the engines of the other process have small buffers
 */
export async function openPair({
  provider,
  nics = 1,
  size,
  namespace,
  mapMemory = false,
  plain = false,
  small = false,
}) {
  const options = optionsOf(provider, nics, mapMemory);
  const program = fileURLToPath(new URL('peer.mjs', import.meta.url));
  const env = {
    ...environmentOf(provider, { namespace, node: 1, nics: NICS }),
    ...(small && SMALL_BUFFERS),
  };
  const child = fork(program, [JSON.stringify({ options, size, plain })], { env });
  const { ask, ended } = conversation(child);
  await Promise.race([once(child, 'message'), ended]);
  const engine = await TransferEngine.open(options);
  const memory = await engine.allocate(size);
  const { address } = await ask('meet', { address: engine.address });
  const remote = await engine.peer(address);
  const beside = plain ? await openEndpoint(provider, size, ask) : undefined;
  pin(process.pid, 0);
  pin(child.pid, 1);
  return {
    engine,
    memory,
    ask,
    remote,
    ...beside,
    async close() {
      await ask('end');
      await Promise.all([engine.close(), beside?.endpoint.close()]);
    },
  };
}

/** Sends commands to the other process. `ended` rejects when it ends by itself. */
function conversation(child) {
  const waiting = new Map();
  let next = 0;
  child.on('message', ([id, result, error]) => {
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error) reject?.(new Error(`the peer: ${error}`));
    else resolve?.(result);
  });
  const ended = once(child, 'exit').then(([code, signal]) => {
    const error = new Error(`the peer ended: ${signal ?? `exit ${code}`}`);
    for (const { reject } of waiting.values()) reject(error);
    throw error;
  });
  ended.catch(() => {}); // callers that wait get the error
  const ask = (command, argument = null) =>
    new Promise((resolve, reject) => {
      waiting.set(++next, { resolve, reject });
      child.send([next, command, argument]);
    });
  return { ask, ended };
}

/** An endpoint beside the engine, with the endpoint of the other process as its peer. */
async function openEndpoint(provider, size, ask) {
  const endpoint = await open({ provider, caps: ['FI_MSG', 'FI_RMA'] });
  const region = await endpoint.domain.allocate(size, ['FI_WRITE', 'FI_REMOTE_WRITE']);
  const other = await ask('meetPlain', {
    address: hex(endpoint.address),
    descriptor: hex(region.descriptor()),
  });
  return {
    endpoint,
    region,
    peer: endpoint.av.insert(Buffer.from(other.address, 'hex')),
    remoteRegion: endpoint.domain.remote(Buffer.from(other.descriptor, 'hex')),
  };
}

export function elapsed() {
  const start = performance.now();
  return () => performance.now() - start;
}

/**
 * A transfer that can be repeated: each call of the result does it once and resolves to milliseconds. `clock` returns
 * the time before and after it.
 */
export async function repeated(pair, name, from, what, clock = elapsed) {
  const newGrant = async () => pair.remote.grant(await pair.ask('offer', { name, ...what }));
  let grant = await newGrant();
  let transfer;
  const run = async () => {
    const took = clock();
    transfer = transfer ? transfer.repeat() : pair.remote.write(from, grant);
    await transfer;
    const result = took();
    await pair.ask('arrived', name);
    return result;
  };
  return async () => {
    try {
      return await run();
    } catch (error) {
      // On a busy machine, a slice of the last round was sent twice.
      if (error.code !== 'FI_EALREADY') throw error;
      await pair.ask('close', name);
      grant = await newGrant();
      transfer = undefined;
      return run();
    }
  };
}
