// Closes objects while nothing awaits the promises of the calls that this cancels. Prints the outcome of each call, in
// alphabetical order. Arguments: provider, driver, which object closes (endpoint, domain, cq or av).
import { open } from 'libfabric';
import { pair } from './lifecycle-busy.mjs';

const [provider, driver, which] = process.argv.slice(2);
const { a: ep, b: silent, peer } = await pair(provider, driver, ['FI_MSG', 'FI_TAGGED', 'FI_RMA']);
const { domain, receiveQueue: cq, av } = ep;

const calls = {};
const receives = () => {
  const batch = ep.batch();
  batch.recv(new Uint8Array(8));
  return batch;
};
// These calls wait until something closes.
calls.recv = ep.recv(new Uint8Array(8));
calls.recvv = ep.recvv([new Uint8Array(8), new Uint8Array(8)]);
calls.trecv = ep.trecv(new Uint8Array(8), null, 1);
calls.batch = receives().submit();
calls.rounds = receives().submit({ times: 1000 });
calls.until = domain.until(ep.recv(new Uint8Array(8)));
calls.limited = ep.recv(new Uint8Array(8), null, {
  timeout: 1e9,
  signal: new AbortController().signal,
});
if (which !== 'av') calls.arrived = cq.arrived(1);
while (domain.stats().operations < 7) {
  if (driver === 'manual') domain.progress();
  await new Promise(setImmediate);
}
calls.unread = ep.recv(new Uint8Array(8));
// These calls may end before, in their own way.
const others = [];
for (let i = 0; i < 500; i++) others.push(ep.send(new Uint8Array(4096), peer));
const sends = ep.batch();
for (let i = 0; i < 100; i++) sends.send(new Uint8Array(4096), peer);
others.push(sends.submit(), sends.submit());
const region = await domain.allocate(4096, ['FI_SEND']);
others.push(ep.send(region, peer), region.close(), av.remove(peer));
try {
  others.push(domain.counter().wait(1));
} catch {} // the provider has no counters
const third = await open({ provider, driver });
others.push(av.insertMany(Array.from({ length: 50_000 }, () => third.address)));
if (av.addrFormat.startsWith('FI_SOCKADDR')) {
  for (let i = 0; i < 50; i++) others.push(av.insertService('127.0.0.1', 1000 + i));
}
for (let i = 0; i < 100; i++) others.push(domain.register(new Uint8Array(1 << 20), ['FI_SEND']));
for (let i = 0; i < 100; i++) others.push(domain.allocate(1 << 16, ['FI_SEND']));
await { endpoint: ep, domain, cq, av }[which].close({ timeout: 20 });
// Node reports unhandled rejections before it runs this.
await new Promise(setImmediate);
await new Promise(setImmediate);

const nameOf = ({ status, reason }) => (status === 'fulfilled' ? 'ok' : (reason.code ?? reason));
const ends = await Promise.allSettled(Object.values(calls));
console.log(
  Object.keys(calls)
    .map((name, i) => `${name} ${nameOf(ends[i])}`)
    .sort()
    .join('\n'),
);
const rest = new Set();
await ep.close();
for (const end of await Promise.allSettled(others)) rest.add(nameOf(end));
// efa inserts addresses only as long as an endpoint is open.
for (const end of ['ok', 'FI_ECANCELED', 'ERR_CLOSED', 'FI_EOPBADSTATE']) rest.delete(end);
console.log('others', ...rest);
await Promise.all([silent.close(), third.close()]);
