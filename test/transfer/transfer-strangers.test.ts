// engine.peer() with the connection over which an address came: a stranger chooses no host to connect to.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Admit, admitted, sourceOf, sourceOfRequest } from '../../dist/base/origin.js';
import { decodeAddress } from '../../dist/transfer/address.js';
import { bystander, forged, peersOf, railAt } from '../support/forged.js';

const TCP = { provider: 'tcp', node: '127.0.0.1' };

async function openEngine(more = {}): Promise<TransferEngine> {
  const engine = await TransferEngine.open({ ...TCP, ...more });
  onTestFinished(() => engine.close());
  return engine;
}

const from = (remoteAddress: string) => ({ remoteAddress });
const own = Object.values(networkInterfaces()).flatMap(
  (each) => each?.flatMap(({ family, address }) => (family === 'IPv4' ? [address] : [])) ?? [],
);

const isAdmitted = async (host: string, remoteAddress: string): Promise<boolean> => {
  const format = 'FI_SOCKADDR_IN';
  const named = { provider: 'tcp', format, addresses: [railAt(host, 80)] };
  const [usable] = await admitted(named, sourceOf(from(remoteAddress)), {}, undefined);
  return usable === true;
};

describe('which hosts a stranger may name', () => {
  test('its own', async () => {
    expect(await isAdmitted('10.1.2.3', '10.1.2.3')).toBe(true);
    expect(await isAdmitted('10.1.2.3', '::ffff:10.1.2.3')).toBe(true);
    for (const other of ['10.1.2.4', '127.0.0.1', '0.0.0.0', '169.254.169.254', ...own])
      expect(await isAdmitted(other, '10.1.2.3'), other).toBe(false);
  });

  test('those of this host only from this host, and nothing else of the loopback network', async () => {
    for (const one of own)
      for (const other of own) expect(await isAdmitted(one, other), `${one} ${other}`).toBe(true);
    expect(await isAdmitted('127.0.0.2', '127.0.0.1')).toBe(false);
    expect(await isAdmitted('0.0.0.0', '127.0.0.1')).toBe(false);
  });

  test('none in other bytes, or in addresses of IPv6 that are others', async () => {
    const six = new Uint8Array(28);
    six.set([10, 0, 0, 80]);
    six.set([0xfe, 0x80], 8);
    six[23] = 1;
    const named = (address: Uint8Array) =>
      admitted(
        { provider: 'tcp', format: 'FI_SOCKADDR_IN6', addresses: [address] },
        sourceOf(from('fe80::1%eth0')),
        {},
        undefined,
      );
    expect(await named(six)).toEqual([true]);
    expect(await named(six.slice(0, 20))).toEqual([false]);
    six[23] = 2;
    expect(await named(six)).toEqual([false]);
  });

  test('none if the connection has ended, was reset, or is that of a proxy', async () => {
    expect(sourceOf({ remoteAddress: '127.0.0.1', destroyed: true })).toBe('');
    expect(sourceOf({})).toBe('');
    for (const name of ['forwarded', 'x-forwarded-for', 'via'])
      expect(sourceOfRequest(from('127.0.0.1'), { [name]: 'a' })).toBe('');
    expect(await isAdmitted('127.0.0.1', '')).toBe(false);
  });

  test('those of this host over a Unix socket, and shm only from this host', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'origin-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const server = createServer().listen(join(folder, 's'));
    await once(server, 'listening');
    const client = connect(join(folder, 's'));
    const [socket] = (await once(server, 'connection')) as [Socket];
    onTestFinished(() => {
      client.destroy();
      socket.destroy();
      server.close();
    });
    const shm = { provider: 'shm', format: 'FI_ADDR_STR', addresses: [Buffer.from('fi_shm://1')] };
    const tcp = { provider: 'tcp', format: 'FI_SOCKADDR_IN', addresses: [railAt('127.0.0.1', 1)] };
    for (const named of [shm, tcp]) {
      expect(await admitted(named, sourceOf(socket), socket, undefined)).toEqual([true]);
      const far = from('10.1.2.3');
      expect(await admitted(named, sourceOf(far), far, undefined)).toEqual([false]);
    }
  });

  test('all of efa, unless admit() refuses', async () => {
    const named = {
      id: 'a',
      provider: 'efa',
      format: 'FI_ADDR_EFA',
      addresses: [Buffer.alloc(32)],
    };
    const asked: unknown[] = [];
    const decide =
      (decision: unknown): Admit =>
      (...args) => {
        asked.push(args);
        return decision as boolean;
      };
    const connection = from('10.1.2.3');
    expect(await admitted(named, '10.1.2.3', connection, undefined)).toEqual([true]);
    expect(await admitted(named, '10.1.2.3', connection, decide(true))).toEqual([true]);
    for (const no of [false, undefined, 1])
      expect(await admitted(named, '10.1.2.3', connection, decide(no))).toEqual([false]);
    expect(asked[0]).toEqual([{ id: 'a', provider: 'efa', places: [] }, connection]);
  });
});

test('a forged address makes no peer and no connection, unless admit() says so', async () => {
  const [server, evil] = [await openEngine(), await openEngine()];
  const { connections, rail, port } = await bystander();
  const address = forged(evil.address, { rails: [rail], maps: false });
  const local = from('127.0.0.1');
  await expect(server.peer(address, { from: local })).rejects.toMatchObject({
    code: 'FI_EACCES',
    message: expect.stringContaining(`127.0.0.2:${port}`),
  });
  expect([peersOf(server), connections]).toEqual([[], []]);
  const asked: unknown[] = [];
  const admit: Admit = async (...args) => asked.push(args) > 0;
  const peer = await server.peer(address, { from: local, admit });
  expect(asked).toEqual([
    [{ id: evil.id, provider: expect.any(String), places: [`127.0.0.2:${port}`] }, local],
  ]);
  await peer.close();
});

test('of several rails those are used that are of the host of the connection', async () => {
  const [server, client] = [await openEngine(), await openEngine()];
  const { connections, rail } = await bystander();
  const [real = rail] = decodeAddress(client.address, '').rails;
  const address = forged(client.address, { rails: [rail, real, rail], maps: false });
  const peer = await server.peer(address, { from: from('127.0.0.1') });
  expect(peer.rails).toBe(3);
  await client.peer(server.address);
  for (let i = 0; i < 20; i++) await peer.notify(Buffer.from('to the real rail'));
  expect(connections).toEqual([]);
});

test('with a secret, the seal decides', async () => {
  const secret = 's'.repeat(32);
  const [server, client] = [await openEngine({ secret }), await openEngine({ secret })];
  const far = { from: from('10.1.2.3') };
  await server.peer(client.address, far);
  const other = await openEngine();
  await expect(server.peer(other.address, far)).rejects.toMatchObject({
    code: 'ERR_INVALID_ARG_VALUE',
  });
});

test('a second address of an engine is refused, and a stranger keeps no engine from being met', async () => {
  const [server, client, evil] = [await openEngine(), await openEngine(), await openEngine()];
  const shadow = forged(client.address, { rails: decodeAddress(evil.address, '').rails });
  const local = { from: from('127.0.0.1') };
  const second = { code: 'ERR_INVALID_ARG_VALUE', message: expect.stringContaining('second') };
  const stranger = await server.peer(shadow, local);
  await expect(server.peer(client.address, local)).rejects.toMatchObject(second);
  const peer = await server.peer(client.address); // the program knows it
  expect([stranger.closed, peer.closed]).toEqual([true, false]);
  await expect(server.peer(shadow, local)).rejects.toMatchObject(second);
  await expect(server.peer(shadow)).rejects.toMatchObject(second);
  expect(await server.peer(client.address, local)).toBe(peer);
  await client.peer(server.address);
  const place = await client.allocate(4096);
  const offer = await place.offer({ access: 'write', to: await client.peer(server.address) });
  const source = await server.allocate(4096);
  source.bytes.fill(7);
  await peer.write(source, offer.token);
  expect(place.bytes[0]).toBe(7);
});

test('a process of another host is not mapped', async () => {
  const [server, client] = [await openEngine(), await openEngine()];
  const admit = () => true;
  const mapped = await server.peer(client.address, { from: from('127.0.0.1') });
  expect(mapped.maps).toBe(true);
  await mapped.close();
  const other = await openEngine();
  const peer = await server.peer(other.address, { from: from('10.1.2.3'), admit });
  expect(peer.maps).toBe(false);
});

test('what does not answer as an engine is not connected to again and again', async () => {
  const [engine, evil] = [await openEngine({ liveness: 2000 }), await openEngine()];
  const { connections, rail } = await bystander();
  const peer = await engine.peer(forged(evil.address, { rails: [rail], maps: false }));
  await expect(peer.notify(Buffer.from('a'))).rejects.toMatchObject({ code: 'FI_ECONNRESET' });
  expect(connections.length).toBeGreaterThan(1);
  expect(connections.length).toBeLessThan(40); // about 15; more than 300 without pauses
});

test('wrong options are refused', async () => {
  const engine = await openEngine();
  const wrong = (options: unknown) => engine.peer(engine.address, options as never);
  await expect(wrong({ form: {} })).rejects.toThrow('form');
  await expect(wrong({ from: 1 })).rejects.toThrow(TypeError);
  await expect(wrong({ admit: true })).rejects.toThrow(TypeError);
});
