// A process that ends without close(), right after its own promise, has told its peers what the promise says.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TransferEngine } from 'libfabric/transfer';
import { afterEach, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { MAPPED_OR_NOT } from '../support/engines.js';
import { withSoftefa } from '../support/softefa.js';
import { loopback } from '../support/transfer.js';

const program = fileURLToPath(new URL('../programs/transfer-ends.mjs', import.meta.url));
const CALLS = ['write', 'read', 'scatter', 'upload', 'download', 'barrier'] as const;
const BYTES = 300_000;

const children = new Set<ChildProcess>();

afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

const cases = casesOf(
  MAPPED_OR_NOT.flatMap(([provider, mapMemory]) =>
    ['by itself', 'exit'].map((how) => ({ provider, mapMemory, how })),
  ),
  ({ provider, mapMemory, how }) => mapMemory && (provider === 'tcp') === (how === 'exit'),
);

test.for(cases)(
  '$provider, mapped: $mapMemory, $how: what a promise has said arrives, although the process ends at once',
  async ({ provider, mapMemory, how }) => {
    const options = { provider, mapMemory, ...loopback(provider) };
    const engine = await TransferEngine.open(options);
    for (const call of CALLS) {
      const child = fork(program, [call, how, JSON.stringify(options)], { env: withSoftefa() });
      children.add(child);
      const ended = once(child, 'exit');
      const [address] = await once(child, 'message');
      const peer = await engine.peer(address);
      const memory = await engine.allocate(BYTES);
      const isRead = call === 'read' || call === 'download';
      const offer = await memory.offer({ access: isRead ? 'read' : 'write', to: peer });
      child.send({ address: engine.address, token: offer.token });
      if (call === 'barrier') await engine.group([peer]).barrier();
      else expect((await offer.arrived).length, call).toBe(BYTES);
      expect(await ended).toEqual([0, null]);
      await memory.close();
    }
    await engine.close();
  },
);
