// What the tests share of endpoints that the provider does not let go of.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type DriverKind, Fabric, getInfo, type ParkedMessage } from 'libfabric';
import { afterEach } from 'vitest';
import { turning } from './lifecycle.js';
import { closing, pattern } from './transfer.js';

/** The messages of a channel, until the test has ended. */
const ears: (() => void)[] = [];
afterEach(() => {
  for (const end of ears.splice(0)) end();
});
export function parkedMessages(): ParkedMessage[] {
  const heard: ParkedMessage[] = [];
  const hear = (message: unknown) => heard.push(message as ParkedMessage);
  subscribe('libfabric:parked', hear);
  ears.push(() => unsubscribe('libfabric:parked', hear));
  return heard;
}

/** Two endpoints of one domain that have greeted each other, and what they are made of. */
export async function pairOfDomain(driver: DriverKind) {
  const [info] = getInfo({
    fabricAttr: { provName: 'efa' },
    epAttr: { type: 'FI_EP_RDM' },
    caps: ['FI_MSG', 'FI_RMA'],
  });
  if (info === undefined) throw new Error('softefa has no endpoints');
  const fabric = closing(Fabric.open(info));
  const domain = fabric.domain(info, { driver });
  const open = () => {
    const av = domain.addressVector();
    const cq = domain.completionQueue();
    return { av, cq, ep: domain.endpoint(info, { av, cq }) };
  };
  const a = open();
  const b = open();
  const toA = b.av.insert(a.ep.address);
  const toB = a.av.insert(b.ep.address);
  const done = <T>(promise: Promise<T>) => turning([domain], promise);
  const greet = (from: typeof a.ep, to: typeof a.ep, peer = toB) =>
    done(Promise.all([from.send(pattern(8), peer), to.recv(new Uint8Array(8))]));
  await greet(a.ep, b.ep);
  await greet(b.ep, a.ep, toA);
  return { fabric, domain, a, b, toA, toB, done };
}
