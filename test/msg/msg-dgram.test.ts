import { Fabric, getInfo, type Message } from 'libfabric';
import { afterEach, describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { datagram } from '../support/providers.js';
import { settle } from '../support/settle.js';
import { datagramPair, fabricError, Guarded } from '../support/transfer.js';

describe.each(datagram)('%s', (provider) => {
  describe.each(['thread', 'loop', 'manual'] as const)('%s driver', (driver) => {
    test('datagrams of every size up to the MTU arrive intact', async (context) => {
      const wire = await datagramPair(context, provider, driver);
      const most = Math.min(Number(wire.a.info.epAttr.maxMsgSize), 1472);
      for (const size of [1, 64, 1000, most]) {
        const target = new Guarded(size);
        const { operations } = wire.b.domain.stats();
        const received = wire.b.recv(target.bytes);
        await wire.postedByB(operations + 1);
        await wire.done(wire.a.send(pattern(size), wire.toB));
        expect((await wire.done(received)).length).toBe(size);
        expectBytes(target.bytes, pattern(size));
        target.expectIntact();
      }
    });

    test('a stream of datagrams can be ended', async (context) => {
      const wire = await datagramPair(context, provider, driver);
      const stream = wire.b.messages({ count: 4, size: 100 });
      for (let i = 0; i < 10; i++) {
        const next = stream.next();
        await wire.postedByB(4 + i);
        await wire.done(wire.a.send(pattern(50, i), wire.toB));
        expectBytes(((await wire.done(next)).value as Message).bytes, pattern(50, i));
      }
      await wire.done(stream.return());
      expect((await wire.done(stream.next())).done).toBe(true);
    });

    test('a receive without a message can be aborted', async (context) => {
      const wire = await datagramPair(context, provider, driver);
      const controller = new AbortController();
      const received = wire.b.recv(new Uint8Array(10), null, { signal: controller.signal });
      controller.abort(new Error('no more'));
      expect(await wire.fails(received)).toHaveProperty('message', 'no more');
    });
  });

  test('a datagram endpoint has no tagged, RMA or atomic calls', async (context) => {
    const { a } = await datagramPair(context, provider);
    for (const call of ['tsend', 'trecv', 'write', 'read', 'atomic', 'multiRecv']) {
      expect(call in a, call).toBe(false);
      expect(call in a.batch(), call).toBe(false);
    }
  });

  test('a datagram that is sent repeatedly arrives once a receive is posted', async (context) => {
    const wire = await datagramPair(context, provider);
    const target = new Uint8Array(8);
    let arrived = false;
    const received = wire.b.recv(target).then(() => {
      arrived = true;
    });
    while (!arrived) {
      await wire.done(wire.a.send(pattern(8), wire.toB));
      await new Promise(setImmediate);
    }
    await received;
    expectBytes(target, pattern(8));
  });
});

describe('udp', () => {
  test('a datagram longer than the MTU fails with FI_EMSGSIZE, and the error names the limit', async (context) => {
    const wire = await datagramPair(context, 'udp');
    const limit = Number(wire.a.info.epAttr.maxMsgSize);
    const refused = wire.a.send(new Uint8Array(limit + 1), wire.toB);
    await expect(refused).rejects.toEqual(fabricError('FI_EMSGSIZE'));
    await expect(refused).rejects.toThrow(`${limit}`);
  });

  test('a provider without remote data refuses senddata', async (context) => {
    const wire = await datagramPair(context, 'udp');
    const refusal = { code: 'ERR_OUT_OF_RANGE' };
    await expect(wire.a.senddata(pattern(4), 1, wire.toB)).rejects.toMatchObject(refusal);
    await expect(wire.a.senddata(pattern(4), 0, wire.toB)).rejects.toBeInstanceOf(Error);
  });
});

describe.each(['thread', 'manual'] as const)('udp through staging memory, %s driver', (driver) => {
  const fabrics: Fabric[] = [];
  afterEach(async () => {
    for (const fabric of fabrics.splice(0)) await fabric.close();
  });

  function staged() {
    const [info] = getInfo({
      fabricAttr: { provName: 'udp' },
      epAttr: { type: 'FI_EP_DGRAM' },
      caps: ['FI_MSG'],
      node: '127.0.0.1',
      flags: ['FI_SOURCE'],
    });
    if (info === undefined) throw new Error('no udp');
    const fabric = Fabric.open(info);
    fabrics.push(fabric);
    const domain = fabric.domain(info, { driver });
    const cq = domain.completionQueue({ format: 'FI_CQ_FORMAT_DATA' });
    return domain.endpoint(info, { av: domain.addressVector(), cq, staging: true });
  }

  test('sends and receives copy to and from their buffers', async () => {
    const [a, b] = [staged(), staged()];
    const toB = a.av.insert(b.address);
    for (let i = 1; i <= 20; i++) {
      const target = new Guarded(100);
      const received = b.recv(target.bytes);
      await settle(a.send(pattern(i * 5, i), toB), a.domain, b.domain);
      expect((await settle(received, a.domain, b.domain)).length).toBe(i * 5);
      expectBytes(target.bytes.subarray(0, i * 5), pattern(i * 5, i));
      target.expectIntact();
    }
  });

  test('sendv gathers and recvv scatters', async () => {
    const [a, b] = [staged(), staged()];
    const toB = a.av.insert(b.address);
    const targets = [new Guarded(4), new Guarded(3), new Guarded(5)];
    const received = b.recvv(targets.map((target) => target.bytes));
    await settle(a.sendv([pattern(6, 1), pattern(4, 2)], toB), a.domain, b.domain);
    expect((await settle(received, a.domain, b.domain)).length).toBe(10);
    const arrived = Buffer.concat(targets.map((target) => target.bytes));
    expectBytes(arrived.subarray(0, 10), Buffer.concat([pattern(6, 1), pattern(4, 2)]));
    for (const target of targets) target.expectIntact();
  });

  test('5000 sends reuse the staging memory', async () => {
    const [a, b] = [staged(), staged()];
    const toB = a.av.insert(b.address);
    const source = new Uint8Array(1472);
    await settle(
      Promise.all(Array.from({ length: 5000 }, () => a.send(source, toB))),
      a.domain,
      b.domain,
    );
    expect(a.domain.stats()).toMatchObject({ operations: 5000, errors: 0 });
  });
});
