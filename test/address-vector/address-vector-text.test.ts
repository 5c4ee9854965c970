// Addresses as text, and addresses where a peer is expected.
import { type AddressVector, FabricError, open } from 'libfabric';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { formatSocketAddress, parseSocketAddress } from '../../dist/base/socket-address.js';
import '../support/softefa.js';

const IPV4 = Uint8Array.of(2, 0, 0x13, 0x88, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0);

const ipv6 = (...groups: number[]) =>
  Uint8Array.of(
    10,
    0,
    0x13,
    0x88,
    0,
    0,
    0,
    0,
    ...groups.flatMap((g) => [g >> 8, g & 255]),
    0,
    0,
    0,
    0,
  );

describe.each([
  ['127.0.0.1:5000', IPV4],
  ['[::1]:5000', ipv6(0, 0, 0, 0, 0, 0, 0, 1)],
  ['[::]:5000', ipv6(0, 0, 0, 0, 0, 0, 0, 0)],
  ['[fd00::2:0:0:1]:5000', ipv6(0xfd00, 0, 0, 0, 2, 0, 0, 1)],
  ['[1:2:3:4:5:6:7:8]:5000', ipv6(1, 2, 3, 4, 5, 6, 7, 8)],
  ['[fe80::]:5000', ipv6(0xfe80, 0, 0, 0, 0, 0, 0, 0)],
] as const)('%s', (text, bytes) => {
  test('has the bytes of its struct sockaddr, and back', () => {
    expect(parseSocketAddress(text)).toEqual(bytes);
    expect(formatSocketAddress(bytes)).toBe(text);
  });
});

test('the forms of straddr() and of mapped addresses are read too', () => {
  expect(parseSocketAddress('fi_sockaddr_in://127.0.0.1:5000')).toEqual(IPV4);
  const mapped = ipv6(0, 0, 0, 0, 0, 0xffff, 0x7f00, 1);
  expect(parseSocketAddress('fi_sockaddr_in6://[::ffff:127.0.0.1]:5000')).toEqual(mapped);
});

test.each([
  ...['', 'localhost:5000', '127.0.0.1', '127.0.0.1:', '127.0.0.1:65536', '127.0.0:5000'],
  ...['::1:5000', '[::1]', '[::1%lo]:5000', '[:::1]:5000', '[1::2::3]:5000', '127.0.0.256:1'],
])('%j is no address', (text) => {
  expect(parseSocketAddress(text)).toBeUndefined();
});

test('bytes that are no struct sockaddr have no text', () => {
  for (const bytes of [new Uint8Array(16), new Uint8Array(3), IPV4.subarray(0, 8)]) {
    expect(formatSocketAddress(bytes)).toBeUndefined();
  }
});

describe('tcp', () => {
  let ep: Awaited<ReturnType<typeof openTcp>>;
  let av: AddressVector;
  const openTcp = () => open({ provider: 'tcp', caps: ['FI_MSG'], node: '127.0.0.1' });

  beforeAll(async () => {
    ep = await openTcp();
    ({ av } = ep);
  });
  afterAll(() => ep.close());

  test('a message reaches an address that was inserted as text', async () => {
    const other = await openTcp();
    onTestFinished(() => other.close());
    const received = other.recv(new Uint8Array(8));
    const peer = av.insert(av.straddr(other.address).replace(/^.*:\/\//, ''));
    expect(av.insert(other.address)).toBe(peer);
    await ep.send(new Uint8Array(8), peer);
    expect((await received).length).toBe(8);
  });

  test('insertMany() takes text too, and names the address that is wrong', async () => {
    const [peer] = await av.insertMany(['127.0.0.1:5000']);
    expect(av.lookup(peer!)).toEqual(IPV4);
    await expect(av.insertMany([IPV4, 'localhost:5000'])).rejects.toThrow(
      /^addresses\[1\] must be/,
    );
  });

  test('any other text is refused with what is wanted', () => {
    expect(() => av.insert('localhost:5000')).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_ARG_VALUE',
        message: expect.stringMatching(/IP:PORT, such as '127.0.0.1:5000'.*insertService\(\)/),
      }),
    );
  });

  test('an address of IPv6 is refused by a vector of IPv4', () => {
    expect(() => av.insert('[::1]:5000')).toThrow('address has address family 10');
  });

  test.each([
    ['bytes', () => ep.address],
    ['an ArrayBuffer', () => ep.address.slice().buffer],
    ['text', () => '127.0.0.1:5000'],
  ])(
    'an address given as a peer, %s, is refused with the call that makes a peer',
    async (_, give) => {
      const wrong = give() as never;
      const refusal = {
        code: 'ERR_INVALID_ARG_TYPE',
        message: expect.stringContaining('peer must be a Peer: use av.insert(address), got '),
      };
      await expect(ep.send(new Uint8Array(1), wrong)).rejects.toMatchObject(refusal);
      expect(() => ep.batch().send(new Uint8Array(1), wrong)).toThrow(
        expect.objectContaining(refusal),
      );
      expect(() => av.lookup(wrong)).toThrow(expect.objectContaining(refusal));
    },
  );

  test('a host name that cannot be resolved is reported by open()', async () => {
    const error = await open({ provider: 'tcp', node: 'no-such-host.invalid' }).catch((e) => e);
    expect(FabricError.is(error)).toBe(true);
    expect(error).toMatchObject({ code: 'FI_EADDRNOTAVAIL', syscall: 'fi_getinfo' });
    expect(error.message).toMatch(/host name no-such-host\.invalid cannot be resolved \(E\w+\)/);
  });

  test('a provider that lacks the endpoint is reported with the address', async () => {
    const asked = open({ provider: 'tcp', type: 'FI_EP_DGRAM', node: '127.0.0.1' });
    await expect(asked).rejects.toMatchObject({
      code: 'FI_ENODATA',
      message: expect.stringContaining('no FI_EP_DGRAM endpoint with FI_MSG on tcp at 127.0.0.1'),
    });
  });
});

test('a truncated message has no text about the socket', async () => {
  const options = { provider: 'tcp', caps: ['FI_MSG'], node: '127.0.0.1' } as const;
  const [a, b] = [await open(options), await open(options)];
  onTestFinished(async () => {
    await Promise.all([a.close(), b.close()]);
  });
  const received = b.recv(new Uint8Array(4));
  const sent = a.send(new Uint8Array(64), a.av.insert(b.address)).catch(() => {});
  await expect(received).rejects.toThrow(
    /^FI_ETRUNC: Truncation error, fi_cq_readerr; the message was longer [^()]+$/,
  );
  await sent;
});

test('maxMsgSize is a number, or Infinity without a limit', async () => {
  const udp = await open({ provider: 'udp', type: 'FI_EP_DGRAM', node: '127.0.0.1' });
  const tcp = await open({ provider: 'tcp', node: '127.0.0.1' });
  onTestFinished(async () => {
    await Promise.all([udp.close(), tcp.close()]);
  });
  expect(udp.maxMsgSize).toBe(Number(udp.info.epAttr.maxMsgSize));
  expect(udp.maxMsgSize).toBeLessThan(65_536);
  expect(tcp.maxMsgSize).toBe(Number.POSITIVE_INFINITY);
});

test('an address of efa has no text form', async () => {
  const efa = await open({ provider: 'efa' });
  onTestFinished(() => efa.close());
  expect(() => efa.av.insert('10.0.0.2:5000')).toThrow(
    "address must be the bytes of a peer's endpoint.address: FI_ADDR_EFA has no text form",
  );
});
