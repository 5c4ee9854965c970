// Helpers of the tests of endpoints that the provider does not release.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type DriverKind, Fabric, getInfo, type ParkedMessage } from 'libfabric';
import { pattern } from './bytes.js';
import { afterEveryTest } from './every-test.js';
import { settle } from './settle.js';
import { closing } from './transfer.js';

const unsubscribes: (() => void)[] = [];
afterEveryTest(() => {
  for (const end of unsubscribes.splice(0)) end();
});
/** Collects the messages of the channel 'libfabric:parked' until the test ends. */
export function parkedMessages(): ParkedMessage[] {
  const messages: ParkedMessage[] = [];
  const record = (message: unknown) => messages.push(message as ParkedMessage);
  subscribe('libfabric:parked', record);
  unsubscribes.push(() => unsubscribe('libfabric:parked', record));
  return messages;
}

/** Opens two endpoints of one domain that have exchanged messages. Also returns the objects they use. */
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
  const done = <T>(promise: Promise<T>) => settle(promise, domain);
  const exchangeMessage = (from: typeof a.ep, to: typeof a.ep, peer = toB) =>
    done(Promise.all([from.send(pattern(8), peer), to.recv(new Uint8Array(8))]));
  await exchangeMessage(a.ep, b.ep);
  await exchangeMessage(b.ep, a.ep, toA);
  return { fabric, domain, a, b, toA, toB, done };
}
