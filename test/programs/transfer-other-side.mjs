// The side of a peer, with all that may be open between two engines: tokens that it makes, and its use of those of the peer.
// As a program (arguments: provider, settings as JSON), it is in another process: its parent sends { address }, gets
// { address, tokens }, sends { used }, the tokens that it uses, and gets { ready }.
import { pathToFileURL } from 'node:url';
import { TransferEngine } from 'libfabric/transfer';

const nothing = () => {};

/** @param {TransferEngine} engine @param {import('libfabric/transfer').RemoteEngine} peer */
export function otherSide(engine, peer) {
  const [incoming, outgoing] = [engine.incoming({ from: peer }), engine.outgoing({ to: peer })];
  for (const stream of [incoming, outgoing]) stream.on('error', nothing);
  outgoing.write('first');
  const tokens = { incoming: incoming.token, outgoing: outgoing.token };
  /** @param {typeof tokens} used */
  const use = (used) => {
    const writable = peer.writable(used.incoming);
    const download = peer.download(used.outgoing);
    for (const stream of [writable, download]) stream.on('error', nothing);
    writable.write('first');
    const started = new Promise((resolve) => download.once('data', resolve));
    download.once('data', () => download.pause());
    return started.then(() => [incoming, outgoing, writable, download]);
  };
  return { tokens, use };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [provider, settings = '{}'] = process.argv.slice(2);
  const engine = await TransferEngine.open({ provider, nics: 1, ...JSON.parse(settings) });
  let side;
  process.on('message', async ({ address, used }) => {
    if (address !== undefined) {
      side = otherSide(engine, await engine.peer(address));
      process.send?.({ address: engine.address, tokens: side.tokens });
    } else {
      await side?.use(used);
      process.send?.({ ready: true });
    }
  });
  process.send?.({ begun: true });
}
