// An engine that joins the group `engines` (arguments: how to make the directory as JSON, settings of the engine as JSON,
// ttl). Says its id, then the ids of peers that join and the reasons of those that are lost. A number in its standard
// input lets it offer so many bytes to the last peer, and say the token. Ends by itself when its standard input ends,
// because of engine.unref().
import { TransferEngine } from 'libfabric/transfer';
import { makeDirectory } from './directory-kinds.mjs';

const [making = '', settings = '', ttl] = process.argv.slice(2);
const engine = await TransferEngine.open(JSON.parse(settings));
const membership = await engine.join(makeDirectory(JSON.parse(making)), 'engines', {
  ttl: Number(ttl),
});
engine.unref();
console.log(engine.id);
let peer;
process.stdin.on('data', async (text) => {
  const memory = await engine.allocate(Number(text));
  console.log((await memory.offer({ access: 'write', to: peer })).token);
});
for await (const event of membership.events()) {
  peer = event.peer;
  console.log(event.type === 'joined' ? `joined ${event.peer.id}` : `lost ${event.reason}`);
}
