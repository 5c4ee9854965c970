// Streams of libfabric/net over NICs that lose, repeat and reorder packets.
import { once } from 'node:events';
import { expect, test } from 'vitest';
import type { FabricSocket } from '../../dist/net/index.js';
import { pattern } from '../support/bytes.js';
import { slow } from '../support/cases.js';
import { pair } from '../support/net-pair.js';
import { testFaults } from '../support/softefa.js';

const faults = testFaults();

/** Writes bytes in both directions, and checks what arrives. */
async function exchange(sockets: [FabricSocket, FabricSocket], size: number): Promise<void> {
  const bytes = pattern(size);
  const read = sockets.map(
    (socket) =>
      new Promise<boolean>((resolve) => {
        const parts: Buffer[] = [];
        let left = size;
        const take = (part: Buffer) => {
          parts.push(part);
          left -= part.length;
          if (left > 0) return;
          socket.off('data', take);
          resolve(Buffer.concat(parts).equals(bytes));
        };
        socket.on('data', take);
      }),
  );
  for (const socket of sockets) socket.write(bytes);
  expect(await Promise.all(read)).toEqual([true, true]);
}

test('bytes arrive in order although packets are lost, delayed and reordered', async () => {
  const sockets = await pair({ provider: 'efa' });
  faults.set({ drop: 20, reorder: 0.3, delay: 0.02 });
  await exchange(sockets, 2_000_000);
});

test('a stream goes on over the control connection if its NIC loses everything', async (context) => {
  context.skip(!slow, 'it waits for 10 seconds: npm run suite -- slow');
  const sockets = await pair({ provider: 'efa' });
  await exchange(sockets, 100_000);
  faults.set({ drop: 1000 });
  await exchange(sockets, 1_000_000);
  for (const socket of sockets) socket.end();
  await Promise.all(sockets.map((socket) => socket.closed || once(socket, 'close')));
});
