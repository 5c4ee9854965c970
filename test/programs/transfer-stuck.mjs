// The thread of a transfer engine is in a provider call that never returns. Prints what the program is told.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { TransferEngine } from 'libfabric/transfer';

const open = () => TransferEngine.open({ provider: 'tcp', node: '127.0.0.1' });
const file = process.env.STUCK;
const [engine, other] = [await open(), await open()];
const [peer] = [await engine.peer(other.address), await other.peer(engine.address)];
await peer.notify(Buffer.from('x'));
const events = engine.events();
writeFileSync(file, '');
const sent = peer.notify(Buffer.from('y')).catch((error) => error);
while (!existsSync(`${file}-reached`)) await new Promise(setImmediate);
rmSync(file);

for await (const event of events) {
  if (event.type === 'rail') console.log('rail', event.rail.state, event.reason);
  if (event.type === 'peer' && event.state === 'lost') {
    console.log('peer', event.reason.replace(/\d+/, 'some'));
    break;
  }
}
console.log('rails', engine.rails.map(({ state }) => state).join());
console.log('notify', (await sent).code, /does not return/.test((await sent).message));
const began = performance.now();
const { code, syscall, message } = await engine
  .register(new Uint8Array(64))
  .catch((error) => error);
console.log(
  'register',
  code,
  syscall,
  /the transfer engine/.test(message),
  'soon',
  performance.now() - began < 5000,
);
await engine.close();
await other.close();
const [a, b] = [await open(), await open()];
await (await a.peer(b.address)).notify(Buffer.from('x'));
await a.close();
await b.close();
console.log('works');
process.exit();
