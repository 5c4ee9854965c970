// The code of what is open with a member whose entry ends, and of what is begun afterwards.
import { TransferEngine } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../support/lifecycle.js';
import { MemoryDirectory } from '../support/memory-directory.js';

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'resolved',
    ({ code }) => code,
  );

/** A member with all that may be open with it. Its program reads nothing. */
async function opened() {
  const directory = new MemoryDirectory();
  const newEngine = async () => {
    const engine = await TransferEngine.open({ provider: 'tcp', node: '127.0.0.1' });
    onTestFinished(() => engine.close());
    return engine;
  };
  const [a, b] = [await newEngine(), await newEngine()];
  const membership = await a.join(directory, 'group');
  const { peers } = await b.join(directory, 'group');
  await until(() => membership.peers.size === 1 && peers.size === 1);
  const peer = membership.peers.get(b.id) as NonNullable<ReturnType<typeof membership.peers.get>>;
  const back = peers.get(a.id) as typeof peer;
  const incoming = b.incoming({ from: back }).on('error', () => {});
  const endless = async function* () {
    for (;;) yield new Uint8Array(2 ** 20);
  };
  const group = a.group([peer]);
  const all = Array.from({ length: 3 * 4096 }, () => peer.notify(new Uint8Array(1)));
  for (const each of all) each.catch(() => {});
  await Promise.all(all.slice(0, 4096)); // it takes no more
  const open = [
    codeOf(all.at(-1) as Promise<void>),
    codeOf(group.barrier()),
    codeOf(peer.upload(endless(), incoming.token)),
  ];
  const { token } = b.incoming({ from: back }).on('error', () => {});
  const begin = () => [
    codeOf(peer.notify(new Uint8Array(1))),
    codeOf(group.barrier()),
    codeOf(peer.upload(endless(), token)),
  ];
  return { directory, membership, peer, other: b, open, begin };
}

test('a member whose entry ends is gone: FI_ECONNRESET', async () => {
  const { directory, other, membership, open, begin } = await opened();
  directory.delete(other.id);
  await until(() => membership.peers.size === 0);
  const codes = await Promise.all([...begin(), ...open]);
  expect(codes.join()).toBe(Array(6).fill('FI_ECONNRESET').join());
});

test('a member that the program leaves was closed by it', async () => {
  const { membership, open, begin } = await opened();
  await membership.leave();
  const [message, ...codes] = await Promise.all(open);
  // b, which loses the member, says that it takes no more: then the message is in its memory.
  expect(message).toMatch(/^(FI_ECANCELED|resolved)$/);
  expect(codes).toEqual(['FI_ECANCELED', 'ERR_CLOSED']);
  expect(await Promise.all(begin())).toEqual(Array(3).fill('ERR_CLOSED'));
});
