// A runtime that only imitates Node.js: the addon cannot hold its backing stores.
import { expect, test } from 'vitest';
import { runInline } from '../support/command.js';

test('memory that JavaScript could free is refused if the runtime cannot hold it', () => {
  const { stdout, stderr, status } = runInline(`
    const versions = { ...process.versions, bun: '1' };
    Object.defineProperty(process, 'versions', { value: versions });
    const { open } = await import('libfabric');
    const ep = await open({ provider: 'shm', caps: ['FI_MSG'] });
    const self = ep.av.insert(ep.address);
    const print = (error) => console.log(error.code);
    await ep.recv(new Uint8Array(8)).catch(print);
    await ep.domain.register(new Uint8Array(8), ['FI_SEND']).catch(print);
    await ep.domain.allocate(8, ['FI_SEND'], { shared: true }).catch(print);
    const region = await ep.domain.allocate(16, ['FI_SEND', 'FI_RECV']);
    region.bytes.fill(3);
    const messages = ep.messages();
    await ep.send(region.slice(0, 8), self);
    await ep.send(region.bytes.subarray(8), self);
    console.log((await messages.next()).value.bytes.length, (await messages.next()).value.bytes[7]);
    await messages.return();
    const shared = new Uint8Array(new SharedArrayBuffer(8));
    const received = ep.recv(shared);
    await ep.inject(Uint8Array.of(5), self);
    await received;
    console.log(shared[0]);
    await ep.close();
  `);
  expect({ stdout, stderr, status }).toEqual({
    stdout: `${'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM\n'.repeat(3)}8 3\n5\n`,
    stderr: '',
    status: 0,
  });
});
