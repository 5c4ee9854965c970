// A client of an object server, for tests that kill it in the middle: `object-client.mjs URL get|put`. Its memory has
// 128 MiB. When a get has some bytes of the fifth piece, it sends a message to its parent.
import { ObjectClient } from 'libfabric/objects';
import { TransferEngine } from 'libfabric/transfer';

const [url, command] = process.argv.slice(2);
const engine = await TransferEngine.open({ provider: 'tcp', node: '127.0.0.1' });
const client = new ObjectClient(`${url}/b`, { engine });
const memory = await engine.allocate(128 * 2 ** 20);
if (command === 'put') {
  memory.bytes.fill(1);
  await client.put('killed', memory);
} else {
  const watching = setInterval(() => {
    if (memory.bytes.subarray(2 ** 24, 2 ** 25).some((byte) => byte !== 0)) process.send('some');
  }, 1);
  await client.get('large', { into: memory });
  clearInterval(watching);
}
process.send('all');
