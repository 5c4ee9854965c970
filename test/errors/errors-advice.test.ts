// The messages of common mistakes: the cause, and a hint.
import { constants } from 'node:buffer';
import { open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { enginePair } from '../support/engines.js';
import { freePort } from '../support/free-port.js';
import { NOT_PORTS } from '../support/services.js';

const tcp = { provider: 'tcp', node: '127.0.0.1' } as const;
const TEST_NET = '192.0.2.1'; // of no interface: RFC 5737

test.each([
  [{ provider: 'tpc' }, "did you mean 'tcp'?"],
  [{ ...tcp, service: 'no service' }, 'on tcp at 127.0.0.1, service no service)'],
  [{ ...tcp, service: '1e3' }, 'a service is a port, or a name in /etc/services'],
  [{ ...tcp, domain: 'eth99' }, 'on tcp with the domain eth99 at 127.0.0.1)'],
  [{ ...tcp, node: TEST_NET }, 'no network interface of this host has the address 192.0.2.1'],
  [{ ...tcp, driver: 'threads' as 'thread' }, "'thread', 'loop', 'manual', got 'threads'"],
])('open(%o)', async (options, text) => {
  await expect(open(options)).rejects.toThrow(text);
});

test.each(['tcp', 'udp', 'shm', 'efa'])(
  'open() of %s with a number that is no port',
  async (provider) => {
    for (const service of NOT_PORTS) {
      await expect(open({ provider, service })).rejects.toMatchObject({ code: 'ERR_OUT_OF_RANGE' });
    }
  },
);

test('open() with the port of another endpoint names the port', async () => {
  const service = String(await freePort());
  const first = await open({ ...tcp, service });
  onTestFinished(() => first.close());
  await expect(open({ ...tcp, service })).rejects.toMatchObject({
    code: 'FI_EADDRINUSE',
    message: expect.stringContaining(`(127.0.0.1, service ${service}); choose another service`),
  });
});

test('options in the place of the source of a receive', async () => {
  const ep = await open(tcp);
  onTestFinished(() => ep.close());
  const received = ep.recv(new Uint8Array(1), { timeout: 1 } as never);
  await expect(received).rejects.toThrow('source must be a Peer, or null for any peer, got an obj');
});

test('memory that does not exist', async () => {
  const ep = await open(tcp);
  onTestFinished(() => ep.close());
  const huge = ep.domain.allocate(2 ** 46, ['FI_SEND']);
  await expect(huge).rejects.toThrow(
    constants.MAX_LENGTH < 2 ** 46
      ? `length must be at most ${constants.MAX_LENGTH} bytes`
      : 'FI_ENOMEM: Cannot allocate memory, mmap (70368744177664 bytes)',
  );
});

test('transfer engines', async () => {
  const Made = TransferEngine as unknown as new () => TransferEngine;
  expect(() => new Made()).toThrow('use TransferEngine.open()');
  await expect(TransferEngine.open({ ...tcp, nics: ['eth99'] })).rejects.toThrow(
    'the domain eth99',
  );
  const { a, b, toA, toB } = await enginePair(tcp);
  const [from, into] = [await a.allocate(64), await b.allocate(64)];
  const offer = await into.offer({ access: 'write', to: toA, expires: 1 });
  await offer.released;
  expect(() => toB.write(from, offer.token)).toThrow(
    /expired \d+ ms ago, by the clock of this host/,
  );
});
