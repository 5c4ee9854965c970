// Prints whether an engine that closes unmaps the memory of its peer (--expose-gc; argument: provider).
import { readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { TransferEngine } from 'libfabric/transfer';

const [provider] = process.argv.slice(2);
// Unused mappings also go away after some seconds. That must not be what happens here.
Object.assign(globalThis, { setInterval: () => ({ unref() {} }) });

const mapped = () =>
  readFileSync('/proc/self/maps', 'utf8').split('/memfd:libfabric-transfer-').length - 1;

const options = {
  provider,
  nics: 1,
  mapMemory: true,
  ...(provider === 'tcp' && { node: '127.0.0.1' }),
};
const owner = await TransferEngine.open(options);
const memory = await owner.allocate(4096);
const before = mapped();

async function writeAndClose() {
  const writer = await TransferEngine.open(options);
  const offer = await memory.offer({ access: 'write', to: await owner.peer(writer.address) });
  const from = await writer.register(new Uint8Array(4096));
  await (await writer.peer(owner.address)).write(from, offer.token);
  const during = mapped();
  await writer.close();
  return during;
}

const during = await writeAndClose();
for (let i = 0; i < 1000 && mapped() > before; i++) {
  globalThis.gc?.();
  await turn();
}
console.log(during - before, mapped() - before);
await owner.close();
