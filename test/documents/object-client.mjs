// A client of the object server, for tests that kill it in the middle: `object-client.mjs URL get|put`. Its memory has
// 256 MiB. When a get has some bytes of the second piece, it sends a message to its parent.
import { TransferEngine } from 'libfabric/transfer';
import { ObjectClient } from '../../examples/object-server/client.mjs';

const [url, command] = process.argv.slice(2);
const engine = await TransferEngine.open({ provider: 'tcp', node: '127.0.0.1' });
const client = await ObjectClient.open(url, engine);
const memory = await engine.allocate(256 * 2 ** 20);
if (command === 'put') {
  memory.bytes.fill(1);
  await client.put('killed', memory);
} else {
  const watching = setInterval(() => {
    if (memory.bytes.subarray(2 ** 24, 2 ** 25).some((byte) => byte !== 0)) process.send('some');
  }, 1);
  await client.get('large', memory);
  clearInterval(watching);
}
process.send('all');
