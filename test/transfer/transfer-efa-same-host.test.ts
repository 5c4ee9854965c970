// efa uses shared memory within a host by default, and efa of 1.17 then drops messages of peers that are not in the vector.
import '../support/efa-defaults.js';
import '../support/softefa.js';
import { TransferEngine } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';

async function newEngine() {
  const engine = await TransferEngine.open({ provider: 'efa' });
  onTestFinished(() => engine.close());
  return engine;
}

test('efa within a host: an engine gets the messages of all engines that it does not know, and knows later', async () => {
  const receiver = await newEngine();
  const messages = receiver.notifications();
  for (const name of ['first', 'second', 'third']) {
    const sender = await newEngine();
    const peer = await sender.peer(receiver.address);
    const exchange = async (text: string) => {
      void peer.notify(Buffer.from(text)).catch(() => {});
      const { value } = await messages.next();
      return [value?.bytes.toString(), value?.from?.id];
    };
    for (const text of [`${name} 1`, `${name} 2`])
      expect(await exchange(text)).toEqual([text, undefined]);
    await receiver.peer(sender.address);
    expect(await exchange(name)).toEqual([name, sender.id]);
  }
});
