// Every data transfer call with valid arguments. Tests replace one at a time with an invalid one.
import type { MemoryRegion, Peer, RemoteRegion } from 'libfabric';

/** The arguments of a call by name, in order. */
export type Arguments = Record<string, unknown>;

export interface Fixtures {
  readonly self: Peer;
  readonly region: MemoryRegion;
  readonly remote: RemoteRegion;
}

/** Bytes that fit a message, an inject and one atomic element. */
const bytes = () => new Uint8Array(8);
const ADD = { datatype: 'FI_UINT64', op: 'FI_SUM' };
const SWAP = { datatype: 'FI_UINT64', op: 'FI_CSWAP' };

/** Returns the arguments of each call. `options`, if any, come last. */
export function verbs({ self, remote }: Fixtures): Readonly<Record<string, () => Arguments>> {
  const rma = { peer: self, remote };
  return {
    send: () => ({ buffer: bytes(), peer: self, options: {} }),
    sendv: () => ({ buffers: [bytes()], peer: self, options: {} }),
    senddata: () => ({ buffer: bytes(), data: 1n, peer: self, options: {} }),
    inject: () => ({ buffer: bytes(), peer: self }),
    injectdata: () => ({ buffer: bytes(), data: 1n, peer: self }),
    recv: () => ({ buffer: bytes(), source: self, options: {} }),
    recvv: () => ({ buffers: [bytes()], source: self, options: {} }),
    tsend: () => ({ buffer: bytes(), peer: self, tag: 1n, options: {} }),
    tsendv: () => ({ buffers: [bytes()], peer: self, tag: 1n, options: {} }),
    tsenddata: () => ({ buffer: bytes(), data: 1n, peer: self, tag: 1n, options: {} }),
    tinject: () => ({ buffer: bytes(), peer: self, tag: 1n }),
    tinjectdata: () => ({ buffer: bytes(), data: 1n, peer: self, tag: 1n }),
    trecv: () => ({ buffer: bytes(), source: self, tag: 1n, ignore: 0n, options: {} }),
    trecvv: () => ({ buffers: [bytes()], source: self, tag: 1n, ignore: 0n, options: {} }),
    write: () => ({ buffer: bytes(), ...rma, options: {} }),
    writev: () => ({ buffers: [bytes()], ...rma, options: {} }),
    writedata: () => ({ buffer: bytes(), data: 1n, ...rma, options: {} }),
    injectWrite: () => ({ buffer: bytes(), ...rma, options: {} }),
    injectWritedata: () => ({ buffer: bytes(), data: 1n, ...rma, options: {} }),
    read: () => ({ buffer: bytes(), ...rma, options: {} }),
    readv: () => ({ buffers: [bytes()], ...rma, options: {} }),
    atomic: () => ({ operand: bytes(), ...rma, options: ADD }),
    fetchAtomic: () => ({ operand: bytes(), result: bytes(), ...rma, options: ADD }),
    compareAtomic: () => ({
      operand: bytes(),
      compare: bytes(),
      result: bytes(),
      ...rma,
      options: SWAP,
    }),
  };
}

/** The names of the calls. */
export const VERBS = Object.keys(verbs({} as Fixtures));

type Callable = Readonly<Record<string, ((...args: unknown[]) => unknown) | undefined>>;

/** Calls a verb of an endpoint, a batch or the post of an endpoint with arguments of any type. */
export function callVerb(target: object, verb: string, args: Arguments): unknown {
  const call = (target as Callable)[verb];
  if (call === undefined) throw new Error(`there is no ${verb}`);
  return call.apply(target, Object.values(args));
}
