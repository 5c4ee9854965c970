// Mapped memory of a peer that has closed it. It takes 10 to 20 s, so it is no part of `npm test`.
import { readdirSync, readlinkSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { enginePair } from '../support/engines.js';
import { HANG_MS } from '../support/limits.js';

const MIB = 1 << 20;

const sharedFiles = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('/memfd:libfabric-transfer-');
    } catch {
      return false; // the descriptor of the directory
    }
  }).length;

test('the memory of closed memory is given back, although the peer has mapped it', async () => {
  const { a, b, toA, toB } = await enginePair({ provider: 'tcp' });
  const from = await a.register(new Uint8Array(MIB));
  const before = sharedFiles();
  for (let i = 0; i < 20; i++) {
    const into = await b.allocate(MIB);
    const offer = await into.offer({ access: 'write', to: toA });
    await toB.write(from, offer.token);
    await offer.released;
    await into.close();
  }
  await vi.waitFor(
    () => {
      globalThis.gc?.();
      expect(sharedFiles()).toBeLessThan(before + 20);
    },
    { timeout: HANG_MS }, // an unused mapping stays for 10 to 20 s
  );
});
