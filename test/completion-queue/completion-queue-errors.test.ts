// The members of a failed operation's error besides its number: those of the entry of fi_cq_readerr(3), the
// peer, and the index in a batch.
import type { FabricError } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { everywhere } from '../support/cases.js';
import { drivers } from '../support/providers.js';
import { datagramPair, fabricError, type Pair, pair } from '../support/transfer.js';

// A truncated message ends the connection of the stream providers.
const endsConnection = (provider: string) => provider === 'tcp;ofi_rxm' || provider === 'net';
// udp;ofi_rxd does not report truncation.
const truncating = everywhere.filter(([provider]) => provider !== 'udp;ofi_rxd');
const reportsAll = (provider: string) => ['shm', 'efa', 'sockets'].includes(provider);

describe.each(truncating)('%s, %s driver', (provider, driver) => {
  test('FI_ETRUNC has the lengths, the data and the flags of the message', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const { a, b, toA, toB } = wire;
    const received = b.recv(new Uint8Array(10));
    const failure = wire.fails(received);
    await wire.done(a.senddata(pattern(100), 5, toB));
    const error = await failure;
    expect(error).toEqual(fabricError('FI_ETRUNC'));
    expect(error).toHaveProperty('flags', expect.arrayContaining(['FI_MSG', 'FI_RECV']));
    expect(error).not.toHaveProperty('index');
    if (provider === 'shm') expect(error).toHaveProperty('peer', toA);
    else expect(error).not.toHaveProperty('peer');
    if (!reportsAll(provider)) return expect(error).not.toHaveProperty('olen');
    expect(error).toMatchObject({ len: 10, olen: 90 });
    // These providers drop the data of a message that arrives before its receive.
    const { data } = error as FabricError;
    expect([5n, undefined]).toContain(data);
  });

  test('FI_ETRUNC of a tagged receive has the tag', async (context) => {
    if (endsConnection(provider))
      context.skip('the provider does not report a truncated tagged message');
    const wire = await pair(context, provider, ['FI_TAGGED'], driver);
    const { a, b, toB } = wire;
    const tag = 0xffff_ffff_ffffn;
    const failure = wire.fails(b.trecv(new Uint8Array(10), null, tag));
    await wire.done(a.tsend(pattern(100), toB, tag));
    expect(await failure).toMatchObject({ code: 'FI_ETRUNC', tag });
  });

  test('the error of a directed receive has the peer and no index', async (context) => {
    if (endsConnection(provider)) context.skip('the connection ends with a truncated message');
    const wire = await pair(context, provider, ['FI_MSG', 'FI_DIRECTED_RECV'], driver);
    const failure = wire.fails(wire.b.recv(new Uint8Array(10), wire.toA));
    await wire.done(wire.a.send(pattern(100), wire.toB));
    const error = await failure;
    expect(error).toMatchObject({ code: 'FI_ETRUNC', peer: wire.toA });
    expect(error).not.toHaveProperty('index');
  });

  test('the error of a batch has the index of the failed receive, in every round', async (context) => {
    if (endsConnection(provider)) context.skip('the connection ends with a truncated message');
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const { a, b, toB } = wire;
    const batch = b.batch();
    for (const size of [100, 100, 10, 100]) batch.recv(new Uint8Array(size));
    const send = async () => {
      for (let i = 0; i < 4; i++) await wire.done(a.send(pattern(100), toB));
    };
    for (let round = 0; round < 3; round++) {
      const failure = wire.fails(batch.submit());
      await send();
      expect(await failure).toMatchObject({ code: 'FI_ETRUNC', index: 2 });
    }
    if (driver !== 'manual') return;
    await send();
    expect(() => batch.run()).toThrow(expect.objectContaining({ code: 'FI_ETRUNC', index: 2 }));
  });
});

describe.each(everywhere)('%s, %s driver', (provider, driver) => {
  const refused = { code: 'FI_EINVAL', index: 1 };
  const open = async (wire: Pair<'FI_EP_RDM', 'FI_MSG' | 'FI_RMA'>) => {
    const region = await wire.b.domain.allocate(64, ['FI_REMOTE_WRITE']);
    const batch = wire.a.batch();
    const closedRemote = wire.a.domain.remote(region.descriptor());
    const openRemote = wire.a.domain.remote(region.descriptor());
    for (const remote of [openRemote, closedRemote, openRemote])
      batch.write(new Uint8Array(8), wire.toB, remote);
    return { batch, closedRemote };
  };

  test('the error of a batch has the index and peer of the refused operation', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_RMA'], driver);
    const { batch, closedRemote } = await open(wire);
    closedRemote.close();
    const peer = wire.toB;
    expect(await wire.fails(batch.submit())).toMatchObject({ ...refused, peer });
    expect(await wire.fails(batch.submit())).toMatchObject({ ...refused, peer });
    if (driver !== 'manual') return;
    expect(() => batch.run()).toThrow(expect.objectContaining(refused));
  });

  test('the error of a batch that was submitted before has the index, too', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG', 'FI_RMA'], driver);
    const { batch, closedRemote } = await open(wire);
    for (let round = 0; round < 3; round++) await wire.done(batch.submit());
    closedRemote.close();
    batch.update(0, { offset: 0 });
    expect(await wire.fails(batch.submit())).toMatchObject(refused);
  });
});

describe.each(drivers)('datagrams of efa, %s driver', (driver) => {
  test('FI_ETRUNC has the lengths of the datagram and the index in the batch', async (context) => {
    const wire = await datagramPair(context, 'efa', driver);
    const { a, b, toB } = wire;
    const batch = b.batch();
    for (const size of [100, 10]) batch.recv(new Uint8Array(size));
    const failure = wire.fails(batch.submit());
    await wire.postedByB(2);
    for (let i = 0; i < 2; i++) await wire.done(a.send(pattern(100), toB));
    expect(await failure).toMatchObject({ code: 'FI_ETRUNC', index: 1, len: 10, olen: 90 });
  });
});
