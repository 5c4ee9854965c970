import type { Cap, Endpoint, EpType, Peer, RemoteRegion } from 'libfabric';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { available, datagramPair, endpoint } from '../support/transfer.js';

// These functions are only compiled: tsc -p tsconfig.test.json fails if an expected error is missing.
const bytes = new Uint8Array(8);

function datagrams(ep: Endpoint<'FI_EP_DGRAM', 'FI_MSG' | 'FI_TAGGED'>, peer: Peer): void {
  expectTypeOf(ep.send(bytes, peer)).toEqualTypeOf<Promise<void>>();
  ep.recv(bytes);
  ep.messages();
  // @ts-expect-error
  ep.tsend(bytes, peer, 1n);
  // @ts-expect-error
  ep.trecv(bytes, peer, 1n);
  // @ts-expect-error
  ep.write;
  // @ts-expect-error
  ep.read;
  // @ts-expect-error
  ep.post.tsend(bytes, peer, 1n);
  // @ts-expect-error
  ep.batch().tsend(bytes, peer, 1n);
  // @ts-expect-error
  ep.multiRecv(bytes);
}

function messages(ep: Endpoint<'FI_EP_RDM', 'FI_MSG'>, peer: Peer): void {
  ep.senddata(bytes, 1, peer);
  ep.recvv([bytes, bytes], null, { flags: [] });
  expectTypeOf(ep.batch().send(bytes, peer)).toEqualTypeOf<number>();
  expectTypeOf(ep.post.send(bytes, peer, { context: 1 })).toEqualTypeOf<void>();
  // @ts-expect-error
  ep.tsend(bytes, peer, 1n);
  // @ts-expect-error
  ep.post.tsend(bytes, peer, 1n);
  // @ts-expect-error
  ep.batch().trecv(bytes, peer, 1n);
  // @ts-expect-error
  ep.write;
  // @ts-expect-error
  ep.atomic;
  // @ts-expect-error
  ep.multiRecv(bytes);
  // @ts-expect-error
  ep.send(bytes, ep.address);
  // @ts-expect-error
  ep.send('text', peer);
}

function sender(ep: Endpoint<'FI_EP_RDM', 'FI_MSG' | 'FI_SEND'>, peer: Peer): void {
  ep.send(bytes, peer);
  ep.post.send(bytes, peer);
  ep.batch().send(bytes, peer);
  // @ts-expect-error
  ep.recv(bytes);
  // @ts-expect-error
  ep.post.recv(bytes);
  // @ts-expect-error
  ep.batch().recv(bytes);
  // @ts-expect-error
  ep.messages();
}

function everything(
  ep: Endpoint<'FI_EP_RDM', 'FI_TAGGED' | 'FI_RMA' | 'FI_MULTI_RECV'>,
  peer: Peer,
  remote: RemoteRegion,
): void {
  ep.tsend(bytes, peer, 1);
  ep.write(bytes, peer, remote, { offset: 8 });
  ep.batch().writedata(bytes, 7n, peer, remote);
  ep.post.read(bytes, peer, remote, { context: {} });
  ep.multiRecv(bytes).return();
  // @ts-expect-error
  ep.send(bytes, peer);
  // @ts-expect-error
  ep.tsend(bytes, peer);
  // @ts-expect-error
  ep.write(bytes, peer, remote, { offset: '8' });
}

function anything(ep: Endpoint, peer: Peer): void {
  expectTypeOf<Endpoint>().toEqualTypeOf<Endpoint<EpType, Cap>>();
  ep.send(bytes, peer);
}

test("an endpoint's type and capabilities determine its methods at compile time", () => {
  for (const compiled of [datagrams, messages, sender, everything, anything]) {
    expectTypeOf(compiled).returns.toBeVoid();
  }
});

function expectCalls(ep: object, calls: readonly string[], expected: boolean): void {
  const { post, batch } = ep as { post: object; batch(): object };
  for (const call of calls) {
    expect(call in ep, call).toBe(expected);
    expect(call in post, `post.${call}`).toBe(expected);
    expect(call in batch.call(ep), `batch().${call}`).toBe(expected);
  }
}

describe.each(['shm', 'tcp;ofi_rxm'])('%s', (provider) => {
  test('an endpoint with FI_MSG has no tagged, RMA or atomic calls', async (context) => {
    const ep = await endpoint(context, provider, ['FI_MSG']);
    expectCalls(ep, ['send', 'sendv', 'senddata', 'inject', 'recv', 'recvv'], true);
    expectCalls(ep, ['tsend', 'trecv', 'tinject', 'write', 'writedata', 'read', 'atomic'], false);
    expect('messages' in ep).toBe(true);
  });

  test('an endpoint with FI_SEND has no receive calls', async (context) => {
    const ep = await endpoint(context, provider, ['FI_MSG', 'FI_SEND']);
    expectCalls(ep, ['send', 'sendv', 'senddata', 'inject'], true);
    expectCalls(ep, ['recv', 'recvv', 'tsend', 'write'], false);
    expect('messages' in ep).toBe(false);
  });

  test('an endpoint with FI_TAGGED and FI_RMA has both, and no untagged calls', async (context) => {
    const ep = await endpoint(context, provider, ['FI_TAGGED', 'FI_RMA']);
    expectCalls(ep, ['tsend', 'trecv', 'write', 'read', 'writedata', 'injectWrite'], true);
    expectCalls(ep, ['send', 'recv', 'atomic'], false);
  });

  test('an endpoint with FI_MULTI_RECV has multiRecv', async (context) => {
    available(context, provider, ['FI_MSG', 'FI_MULTI_RECV']);
    const ep = await endpoint(context, provider, ['FI_MSG', 'FI_MULTI_RECV']);
    expect('multiRecv' in ep).toBe(true);
  });
});

test('a datagram endpoint has neither tagged nor RMA calls', async (context) => {
  const { a } = await datagramPair(context, 'udp');
  expectCalls(a, ['send', 'recv'], true);
  expectCalls(a, ['tsend', 'trecv', 'write', 'read', 'atomic'], false);
});
