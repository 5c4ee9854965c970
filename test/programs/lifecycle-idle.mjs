// Ends naturally, or stays alive as long as an operation is pending. Arguments: provider, driver, how.
import { Fabric, getInfo, open } from 'libfabric';

const [provider, driver, how] = process.argv.slice(2);
const ep = await open({ provider, driver, caps: ['FI_MSG', 'FI_RMA'] });
const self = ep.av.insert(ep.address);

let domain; // must not be garbage-collected before the program ends
const ways = {
  idle: () => 'idle',
  done: async () => {
    const received = ep.recv(new Uint8Array(8));
    await ep.send(new Uint8Array(8), self);
    await received;
    return 'done';
  },
  // The timer alone does not keep the process alive: the receive does.
  pending: async () => {
    const received = ep.recv(new Uint8Array(8));
    setTimeout(() => ep.send(new Uint8Array(8), self), 300).unref();
    await received;
    return 'received';
  },
  messages: async () => {
    const messages = ep.messages({ count: 4 });
    setTimeout(() => ep.send(new Uint8Array(8), self), 300).unref();
    await messages.next();
    await messages.return();
    return 'received';
  },
  closedQueue: async () => {
    const waiting = [ep.receiveQueue.arrived(1), ep.receiveQueue.arrived(2, 5)];
    await ep.receiveQueue.close();
    const ends = await Promise.allSettled(waiting);
    return ends.map(({ reason }) => reason.code).join();
  },
  immediates: async () => {
    const immediates = ep.receiveQueue.immediates();
    const next = immediates.next();
    await immediates.return();
    return (await next).done ? 'ended' : 'arrived';
  },
  refused: async () => {
    const ends = [ep.receiveQueue.arrived(1)];
    ends.push(ep.receiveQueue.arrived(1)); // one wait for a value at a time
    ends.push(ep.send(new Uint8Array(8), 'nobody'));
    const second = await ends[1].catch((error) => error.code);
    const third = await ends[2].catch((error) => error.code);
    await ep.receiveQueue.close();
    await ends[0].catch(() => {});
    return `${second} ${third}`;
  },
  aborted: async () => {
    const controller = new AbortController();
    const received = ep.recv(new Uint8Array(8), null, { signal: controller.signal });
    controller.abort(new Error('no longer wanted'));
    return received.catch((error) => error.message);
  },
  counter: async () => {
    const [info] = getInfo({ fabricAttr: { provName: 'tcp' }, caps: ['FI_MSG'] });
    domain = Fabric.open(info).domain(info);
    const counter = domain.counter();
    const waiting = counter.wait(1);
    await counter.close();
    return waiting.catch((error) => error.code);
  },
  closed: async () => {
    ep.recv(new Uint8Array(8)).catch(() => {});
    await ep.close();
    return 'closed';
  },
};

console.log(await ways[how](), ...(domain?.closed ? ['closed'] : []));
