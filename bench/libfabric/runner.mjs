// The parts that the package's own loops share: the command line, an endpoint with its peer, and the
// forms in which a window of operations is posted. `fill(ops)` adds the operations of one window.
// `turnOf(ep, fill)` returns the function that posts them and waits for them:
//   --form prepared   a batch that is built once and submitted repeatedly
//   --form ring       a batch that is refilled every time, operation by operation
//   --form promise    a promise for every operation
// With --driver manual, the engine runs inside the call. With loop and thread, a turn is a promise.
import { open } from 'libfabric';
import { exchangeBytes, parseSide } from '../side.mjs';

const TIMEOUT_MS = 60_000;
const CAPS = ['FI_MSG', 'FI_TAGGED', 'FI_RMA'];
const ACCESS = ['FI_SEND', 'FI_RECV', 'FI_READ', 'FI_WRITE', 'FI_REMOTE_READ', 'FI_REMOTE_WRITE'];

export const side = parseSide({
  provider: { type: 'string', default: 'shm' },
  driver: { type: 'string', default: 'manual' },
  form: { type: 'string', default: 'prepared' },
  peers: { type: 'string', default: '2' }, // only for peers.mjs
  messages: { type: 'string', default: 'copy' }, // only for stream.mjs
});

export const openEndpoint = (more = {}) =>
  open({ provider: side.provider, caps: CAPS, driver: side.driver, ...more });

/** Opens an endpoint, and inserts the address of its peer in the other process. */
export async function openPair() {
  const ep = await openEndpoint();
  const peer = ep.av.insert(await exchangeBytes(ep.address));
  return { ep, peer };
}

/** Allocates page-aligned, touched and registered memory. */
export async function allocate(ep, bytes) {
  const region = await ep.domain.allocate(bytes, ACCESS);
  region.bytes.fill(1);
  return region;
}

export function turnOf(ep, fill) {
  const manual = side.driver === 'manual';
  const complete = manual ? (batch) => batch.run(TIMEOUT_MS) : (batch) => batch.submit();
  const fillFresh = () => {
    const batch = ep.batch();
    fill(batch);
    return batch;
  };
  switch (side.form) {
    case 'prepared': {
      const batch = fillFresh();
      return () => complete(batch);
    }
    case 'ring': {
      const batch = ep.batch();
      return () => {
        batch.clear();
        fill(batch);
        return complete(batch);
      };
    }
    case 'promise':
      return () => {
        const ops = new Promises(ep);
        fill(ops);
        if (manual) ep.domain.wait(ops.pending.length, TIMEOUT_MS);
        return Promise.all(ops.pending);
      };
    default:
      throw new Error(`unknown form ${side.form}`);
  }
}

/** The endpoint's calls. Collects their promises. */
class Promises {
  pending = [];
  #ep;
  constructor(ep) {
    this.#ep = ep;
  }
  send(buffer, peer) {
    this.pending.push(this.#ep.send(buffer, peer));
  }
  recv(buffer, peer) {
    this.pending.push(this.#ep.recv(buffer, peer));
  }
  tsend(buffer, peer, tag) {
    this.pending.push(this.#ep.tsend(buffer, peer, tag));
  }
  trecv(buffer, peer, tag, ignore) {
    this.pending.push(this.#ep.trecv(buffer, peer, tag, ignore));
  }
  write(buffer, peer, remote) {
    this.pending.push(this.#ep.write(buffer, peer, remote));
  }
  read(buffer, peer, remote) {
    this.pending.push(this.#ep.read(buffer, peer, remote));
  }
}
