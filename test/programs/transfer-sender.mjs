// A transfer engine that writes (arguments: provider, nics, settings as JSON). Its parent sends { card }, which it answers with its
// own card, and then { token, length }: it writes that many bytes, and tells { written }.
import { TransferEngine } from 'libfabric/transfer';

const [provider, nics, settings = '{}'] = process.argv.slice(2);
const engine = await TransferEngine.open({ provider, nics: Number(nics), ...JSON.parse(settings) });
let peer;
process.on('message', async ({ card, token, length }) => {
  if (card !== undefined) {
    peer = await engine.peer(card);
    process.send({ card: engine.card });
    return;
  }
  const place = await engine.allocate(length);
  place.bytes.fill(1);
  process.send({ begins: true });
  await peer.write(place, token);
  process.send({ written: true });
});
process.send({ ready: true });
