// Closes an engine while nothing awaits the promises of the calls that this cancels. Prints how many calls of each kind
// have ended in a way that is neither success nor cancellation, and whether one of those that wait was cancelled.
// Argument: provider.
import { TransferEngine } from 'libfabric/transfer';

const [provider] = process.argv.slice(2);
const options = { provider, maxTransfers: 2, ...(provider === 'tcp' && { node: '127.0.0.1' }) };
const [engine, other] = [await TransferEngine.open(options), await TransferEngine.open(options)];
const remote = await engine.peer(other.address);
const group = engine.group([remote]);
const to = await other.peer(engine.address);
const from = await engine.allocate(1 << 20);
const into = await other.allocate(1 << 20);
const { token } = await into.offer({ access: 'write', to, repeat: true });
const readable = await into.offer({ access: 'read', to, repeat: true });
const memory = await engine.allocate(4096);
await memory.offer({ access: 'write', to: remote });

const many = (count, call) => Array.from({ length: count }, call);
const calls = {
  write: many(100, () => remote.write(from, token)),
  read: many(100, () => remote.read(readable.token, from)),
  // Of a transfer of which only the arrival is wanted.
  arrived: many(100, () => remote.write(from, token).arrived),
  scatter: many(10, () => group.scatter([{ from, token }])),
  barrier: many(2, () => group.barrier()),
  notify: many(10, () => remote.notify(new Uint8Array(8))),
  notifyAll: many(10, () => group.notify(new Uint8Array(8))),
  register: many(100, () => engine.register(new Uint8Array(1 << 20))),
  allocate: many(100, () => engine.allocate(1 << 20)),
  offer: many(100, () => from.offer({ access: 'read', to: remote })),
  closeMemory: [memory.close()],
};
await engine.close();
// Node reports unhandled rejections before it runs this.
await new Promise(setImmediate);
await new Promise(setImmediate);

for (const [name, promises] of Object.entries(calls)) {
  const ends = await Promise.allSettled(promises);
  const codes = new Set(ends.map(({ reason }) => reason?.code ?? 'ok'));
  const waits = ['write', 'read', 'arrived', 'scatter', 'barrier'].includes(name);
  const cancelled = waits && codes.has('FI_ECANCELED') ? ['FI_ECANCELED'] : [];
  for (const end of ['ok', 'FI_ECANCELED']) codes.delete(end);
  if (name === 'register' || name === 'allocate') codes.delete('ERR_CLOSED'); // while the engine closes
  console.log(name, ...cancelled, ...codes);
}
await other.close();
