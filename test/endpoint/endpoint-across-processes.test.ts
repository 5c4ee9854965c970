import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { OtherProcess, type Received } from '../support/other-process.js';
import { settle } from '../support/settle.js';
import { withSoftefa } from '../support/softefa.js';
import { endpoint, widestData } from '../support/transfer.js';

const MIB = 2 ** 20;
const SIZES = [1, 4096, MIB];

async function connect(context: Parameters<typeof endpoint>[0], name: string) {
  const ep = await endpoint(context, name, ['FI_MSG', 'FI_TAGGED', 'FI_RMA']);
  const provider = ep.info.fabricAttr.provName as string;
  const env = provider === 'efa' ? withSoftefa({ node: 1 }) : process.env;
  const other = await OtherProcess.start({ provider, env });
  await other.ask('connect', ep.address);
  const peer = ep.av.insert(other.address);
  const remote = ep.domain.remote(other.descriptor);
  return { ep, other, peer, remote };
}

// With efa, the other process acts as another host.
describe.each(['efa', 'shm', 'tcp;ofi_rxm'])('%s', (provider) => {
  test('messages of every size are delivered in both directions', async (context) => {
    const { ep, other, peer } = await connect(context, provider);
    for (const size of SIZES) {
      const received = other.ask<Received>('recv', size);
      await settle(ep.send(pattern(size, size), peer));
      expectBytes((await received).bytes, pattern(size, size));

      const target = new Uint8Array(size);
      const answer = ep.recv(target);
      await other.ask('send', pattern(size, size + 1));
      expect((await settle(answer)).length).toBe(size);
      expectBytes(target, pattern(size, size + 1));
    }
    await other.close();
  });

  test('tagged messages match their receives in both processes', async (context) => {
    const { ep, other, peer } = await connect(context, provider);
    const tags = [1n, 2n ** 32n + 5n, 2n ** 40n];
    for (const size of SIZES) {
      const receives = tags.map((tag) => other.ask<Received>('trecv', size, tag));
      await settle(
        Promise.all([2, 1, 0].map((i) => ep.tsend(pattern(size, i + 1), peer, tags[i] as bigint))),
      );
      const received = await Promise.all(receives);
      received.forEach(({ bytes, tag }, i) => {
        expect(tag).toBe(tags[i]);
        expectBytes(bytes, pattern(size, i + 1));
      });

      const target = new Uint8Array(size);
      const answer = ep.trecv(target, null, 9n);
      await other.ask('tsend', pattern(size, 9), 9n);
      expect(await settle(answer)).toMatchObject({ length: size, tag: 9n });
      expectBytes(target, pattern(size, 9));
    }
    await other.close();
  });

  test("writes with remote data are in the peer's memory before arrived() resolves", async (context) => {
    const { ep, other, peer, remote } = await connect(context, provider);
    for (const [i, size] of SIZES.entries()) {
      const data = widestData(ep) - BigInt(i);
      const arrived = other.ask('arrived', data, 1);
      await settle(ep.writedata(pattern(size, i + 3), data, peer, remote));
      await arrived;
      expectBytes(await other.ask<Uint8Array>('memory', size), pattern(size, i + 3));
    }
    await other.close();
  });

  test("writes and reads access exactly the requested range of the peer's memory", async (context) => {
    const { ep, other, peer, remote } = await connect(context, provider);
    for (const size of SIZES) {
      const offset = Math.min(100, MIB - size);
      const before = pattern(MIB, 50);
      await other.ask('fill', before);
      const source = pattern(size, 60);
      await settle(ep.write(source, peer, remote, { offset, flags: ['FI_DELIVERY_COMPLETE'] }));
      before.set(source, offset);
      expectBytes(await other.ask<Uint8Array>('memory', MIB), before);

      const target = new Uint8Array(size + 2);
      await settle(ep.read(target.subarray(1, size + 1), peer, remote, { offset }));
      expectBytes(target.subarray(1, size + 1), source);
      expect([target[0], target[size + 1]]).toEqual([0, 0]);
    }
    await other.close();
  });
});
