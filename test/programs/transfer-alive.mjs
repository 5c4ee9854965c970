// Two engines in a process, of which one waits. Only a timer that does not keep the process alive wakes it.
//
// Usage: transfer-alive.mjs idle|events|left|left-events|barrier|refused barrier|notes|offer
import { setTimeout as after } from 'node:timers/promises';
import { TransferEngine } from 'libfabric/transfer';

const [how] = process.argv.slice(2);
const options = { provider: 'tcp', node: '127.0.0.1' };
const engine = await TransferEngine.open(options);
const other = await TransferEngine.open(options);
const remote = await engine.peer(other.address);
const back = await other.peer(engine.address);
const later = (act) => after(100, undefined, { ref: false }).then(act);

const left = async (reader) => {
  const pending = reader.next();
  await reader.return();
  return pending;
};

const WAITS = {
  idle: () => {},
  events: () => {
    engine.events().next();
  },
  left: () => left(engine.notifications()),
  'left-events': () => left(engine.events()),
  barrier: () => {
    later(() => other.group([back]).barrier());
    return engine.group([remote]).barrier();
  },
  'refused barrier': async () => {
    const group = engine.group([remote]);
    await remote.close();
    await group.barrier().catch(() => {});
  },
  notes: () => {
    later(() => back.notify(Buffer.from('now')));
    return engine.notifications().next();
  },
  offer: async () => {
    const memory = await engine.allocate(4096);
    const { token, arrived } = await memory.offer({ access: 'write', to: remote });
    const from = await other.allocate(4096);
    later(() => back.write(from, token));
    return arrived;
  },
};
await WAITS[how]?.();
console.log(how);
