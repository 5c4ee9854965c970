// Runtimes that only imitate Node.js: Bun, whose backing stores the addon cannot hold, and Deno. `npm run suite -- runtimes`
// runs the real ones.
import { expect, test } from 'vitest';
import { runInline } from '../support/command.js';

/** Runs a program that takes this process for another runtime. */
const runAs = (runtime: string, source: string) =>
  runInline(`
    const versions = { ...process.versions, ${runtime}: '1' };
    Object.defineProperty(process, 'versions', { value: versions });
    ${source}
  `);

test('memory that JavaScript could free is refused if the runtime cannot hold it', () => {
  const { stdout, stderr, status } = runAs(
    'bun',
    `
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
  `,
  );
  expect({ stdout, stderr, status }).toEqual({
    stdout: `${'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM\n'.repeat(3)}8 3\n5\n`,
    stderr: '',
    status: 0,
  });
});

test('memory of the package is registered again, also on other domains', () => {
  const { stdout, stderr, status } = runAs(
    'bun',
    `
    const { TransferEngine } = await import('libfabric/transfer');
    const open = () => TransferEngine.open({ provider: 'shm' });
    const [a, b] = [await open(), await open()];
    const [toB, toA] = [await a.peer(b.address), await b.peer(a.address)];
    const [from, into] = [await a.allocate(8192), await b.allocate(8192)];
    from.bytes.fill(7);
    const offer = await into.offer({ access: 'write', to: toA });
    await toB.write(from, offer.token);
    await offer.arrived;
    console.log(into.bytes.every((byte) => byte === 7));
    console.log((await b.register(from.bytes)).length);
    await a.register(new Uint8Array(8192)).catch((error) => console.log(error.code));
    await a.close();
    await b.close();
  `,
  );
  expect({ stdout, stderr, status }).toEqual({
    stdout: 'true\n8192\nERR_FEATURE_UNAVAILABLE_ON_PLATFORM\n',
    stderr: '',
    status: 0,
  });
});

test('the driver loop is refused on Bun', () => {
  const { stdout } = runAs(
    'bun',
    `
    const { open } = await import('libfabric');
    await open({ provider: 'shm', driver: 'loop' }).catch((error) => console.log(error.code));
  `,
  );
  expect(stdout).toBe('ERR_FEATURE_UNAVAILABLE_ON_PLATFORM\n');
});

test('on Deno the first call throws ERR_UNSUPPORTED_PLATFORM', () => {
  const { stdout } = runAs(
    'deno',
    `
    const { open } = await import('libfabric');
    await open({ provider: 'shm' }).catch((error) => console.log(error.code));
  `,
  );
  expect(stdout).toBe('ERR_UNSUPPORTED_PLATFORM\n');
});
