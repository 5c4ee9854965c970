// Sessions one after the other, with long bytes in each. Arguments: provider. Prints how many had their own bytes.
import { once } from 'node:events';
import { connect, createServer } from '../../dist/net/index.js';

const ROUNDS = 60;
const [provider] = process.argv.slice(2);
const keeper = createServer({ provider }).listen(0, '127.0.0.1'); // keeps the endpoint open
await once(keeper, 'listening');
let right = 0;
for (let round = 0; round < ROUNDS; round++) {
  const server = createServer({ provider }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({ port: server.address().port, host: '127.0.0.1', provider });
  const [[peer]] = await Promise.all([once(server, 'connection'), once(client, 'connect')]);
  const bytes = Buffer.alloc(300_000, round + 1);
  client.end(bytes);
  right += Buffer.concat(await peer.toArray()).equals(bytes) ? 1 : 0;
  peer.end();
  server.close();
  await once(server, 'close');
  await new Promise((resolve) => setTimeout(resolve, 1)); // its session ends
  globalThis.gc(); // the memory of the session may be used again
}
console.log(`${right} of ${ROUNDS}`);
keeper.close();
