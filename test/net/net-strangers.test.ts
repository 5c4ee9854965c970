// libfabric/net: a server connects to no host that a client's hello or engine names.
import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { agree, type FabricAddresses, TERMS } from '../../dist/net/agreement.js';
import { meet } from '../../dist/net/connect.js';
import { attach, connect, type MessageSocket, upgrade } from '../../dist/net/index.js';
import { Kind } from '../../dist/net/message-writer.js';
import { Mode, type StreamOwner } from '../../dist/net/stream.js';
import { type Admit, TransferEngine } from '../../dist/transfer/index.js';
import { bystander, forged, peersOf } from '../support/forged.js';
import { HOST, serve } from '../support/net-pair.js';

const TCP = { provider: 'tcp', node: HOST };
const PROVIDER = 'tcp;ofi_rxm';

async function dial(port: number): Promise<Socket> {
  const control = connectTcp(port, HOST);
  onTestFinished(() => void control.destroy());
  await once(control, 'connect');
  return control;
}

/** What a server agrees on with a client that names these endpoints. */
function greet(
  control: Socket,
  addresses: readonly Uint8Array[],
  role: 'client' | 'either' = 'client',
) {
  const provider = addresses.length > 0 ? PROVIDER : '';
  const fabric: FabricAddresses = { provider, addresses, reads: false };
  return agree(control, { session: 1, terms: TERMS, role, fabric, isPlain: false, timeout: 5000 });
}

/** A server of each kind. It resolves to its port. */
const SERVERS: Record<string, (admit: Admit | undefined) => Promise<number>> = {
  async 'createServer()'(admit) {
    const [, port] = await serve({ ...TCP, ...(admit && { admit }) });
    return port;
  },
  async 'attach()'(admit) {
    const server = createHttp().listen(0, HOST);
    attach(server, { ...TCP, ...(admit && { admit }) });
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    return (server.address() as { port: number }).port;
  },
};

async function dialTo(name: string, port: number, header = ''): Promise<Socket> {
  const control = await dial(port);
  if (name === 'createServer()') return control;
  control.write(
    `GET / HTTP/1.1\r\nHost: a\r\n${header}Connection: Upgrade\r\nUpgrade: libfabric\r\n\r\n`,
  );
  for (let head = ''; !head.endsWith('\r\n\r\n'); ) head += (await once(control, 'data'))[0];
  control.pause();
  return control;
}

test.each(Object.keys(SERVERS))(
  '%s names no endpoint to a client that names others',
  async (name) => {
    const { connections, rail, port: place } = await bystander();
    const asked: unknown[] = [];
    const admit: Admit = (address) => asked.push(address) === 0;
    for (const given of [undefined, admit]) {
      const port = await (SERVERS[name] as (typeof SERVERS)[string])(given);
      for (const addresses of [
        [rail],
        [...((await greet(await dialTo(name, port), [])).fabric?.addresses ?? []), rail],
      ]) {
        const { fabric } = await greet(await dialTo(name, port), addresses);
        expect(fabric).toBeUndefined();
      }
    }
    expect(asked).toContainEqual({
      id: undefined,
      provider: PROVIDER,
      places: [`127.0.0.2:${place}`],
    });
    expect(connections).toEqual([]);
  },
);

test.each(Object.keys(SERVERS))('%s uses what admit() admits', async (name) => {
  const { rail } = await bystander();
  const port = await (SERVERS[name] as (typeof SERVERS)[string])(async () => true);
  const { fabric } = await greet(await dialTo(name, port), [rail]);
  expect(fabric?.addresses.length).toBe(1);
});

test('behind a proxy, attach() offers no fabric', async () => {
  const port = await (SERVERS['attach()'] as (typeof SERVERS)[string])(undefined);
  const own = (await greet(await dialTo('attach()', port), [])).fabric?.addresses ?? [];
  expect(own.length).toBe(1);
  const control = await dialTo('attach()', port, 'X-Forwarded-For: 127.0.0.1\r\n');
  expect((await greet(control, own)).fabric).toBeUndefined();
});

test('upgrade() reaches no other host, and says why it uses the connection', async () => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  const { connections, rail } = await bystander();
  const raw = createServer().listen(0, HOST);
  await once(raw, 'listening');
  onTestFinished(() => void raw.close());
  const accepted = once(raw, 'connection') as Promise<[Socket]>;
  const control = await dial((raw.address() as { port: number }).port);
  const [socket] = await accepted;
  onTestFinished(() => void socket.destroy());
  const upgrading = upgrade(socket, { ...TCP, require: 'fabric' });
  const refused = expect(upgrading).rejects.toMatchObject({ code: 'EACCES' });
  await greet(control, [rail], 'either');
  await refused;
  expect(connections).toEqual([]);
});

test('the engine of a client that names another host is not met', async () => {
  const [engine, evil] = [await TransferEngine.open(TCP), await TransferEngine.open(TCP)];
  onTestFinished(async () => void (await Promise.all([engine.close(), evil.close()])));
  const { connections, rail } = await bystander();
  const [server, port] = await serve({ engine });
  const accepted = once(server, 'messages') as Promise<[MessageSocket]>;
  const session = await meet(await dial(port), {}, 5000);
  session.start();
  const text = forged(evil.address, { rails: [rail] });
  const header = Buffer.alloc(4);
  header.writeUInt32LE(((Kind.Engine << 30) | text.length) >>> 0);
  const nothing = () => {};
  const owner: StreamOwner = {
    accepted: () => session.write(stream, Buffer.concat([header, Buffer.from(text)]), 0),
    ...{ readable: nothing, writable: nothing, refused: nothing, reset: nothing },
    ...{ lost: nothing, fellBack: nothing, lostNic: nothing },
  };
  const stream = session.open(owner, Mode.Messages);
  const [socket] = await accepted;
  onTestFinished(() => socket.destroy());
  const sent = socket.sendFrom(await engine.allocate(4096));
  await expect(sent).rejects.toMatchObject({ code: 'FI_EACCES' });
  expect([peersOf(engine), connections]).toEqual([[], []]);
});

test('the engine of a client is forgotten with its last socket', async () => {
  const [engine, other] = [await TransferEngine.open(TCP), await TransferEngine.open(TCP)];
  onTestFinished(async () => void (await Promise.all([engine.close(), other.close()])));
  const [server, port] = await serve({ engine });
  const link = async () => {
    const accepted = once(server, 'messages') as Promise<[MessageSocket]>;
    const client = connect({ port, host: HOST, mode: 'messages', engine: other });
    const [peer] = await accepted;
    const close = () => {
      client.destroy();
      peer.destroy();
    };
    onTestFinished(close);
    const sent = client.sendFrom(await other.allocate(4096));
    expect((await peer.receive())?.length).toBe(4096);
    await sent;
    return close;
  };
  const [closeFirst, closeSecond] = [await link(), await link()];
  closeFirst();
  const closeThird = await link(); // what the first has closed was seen
  expect([peersOf(engine).length, peersOf(other).length]).toEqual([1, 1]);
  closeSecond();
  closeThird();
  await expect.poll(() => [peersOf(engine), peersOf(other)]).toEqual([[], []]);
});
