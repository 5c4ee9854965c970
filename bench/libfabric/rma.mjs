// The RMA rate and bandwidth loop of write.mjs and read.mjs, as in cpp/rma.h: it posts a window and
// waits for its completions. Either one side does this while the other only makes progress, or both
// sides do it at the same time.
import { endExchange, exchange, exchangeBytes, report, timed } from '../side.mjs';
import { allocate, openPair, side, turnOf } from './runner.mjs';

/** @param {(ops, buffer, peer, remote) => void} verb */
export async function runRma(loop, verb, { bothDirections = false } = {}) {
  const { ep, peer } = await openPair();
  const local = await allocate(ep, side.largest);
  const target = await allocate(ep, side.largest);
  const finished = await allocate(ep, 1);
  const remote = ep.domain.remote(await exchangeBytes(target.descriptor()));
  const sendFinished = turnOf(ep, (ops) => ops.send(finished, peer));
  const recvFinished = turnOf(ep, (ops) => ops.recv(finished, null));

  for (const size of side.sizes) {
    const buffer = local.slice(0, size.bytes);
    const window = turnOf(ep, (ops) => {
      for (let i = 0; i < side.window; i++) verb(ops, buffer, peer, remote);
    });
    const windows = Math.max(1, Math.floor(size.iterations / side.window));
    await exchange('ready');
    if (bothDirections || !side.server) {
      const seconds = await timed(windows, window);
      if (!side.server) report(loop, size, windows * side.window, seconds);
      await sendFinished();
    }
    if (bothDirections || side.server) await recvFinished();
  }
  await endExchange();
  await ep.close();
}
