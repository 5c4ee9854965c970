// Endpoints of shm with the name that `node` gives them.
import { rmSync } from 'node:fs';
import { open } from 'libfabric';
import { expect, test } from 'vitest';
import { runInline } from '../support/command.js';

const nameOf = (address: Uint8Array) => Buffer.from(address).toString().replace('\0', '');

test('a name that an endpoint of another process has is refused, or made another one', async () => {
  const node = `same-name-${process.pid}`;
  const ep = await open({ provider: 'shm', node });
  // shm numbers the endpoints of a process. One of these has the number of the first process's endpoint.
  const source = `
    import { open } from 'libfabric';
    for (let i = 0; i < 300; i++) {
      try {
        const ep = await open({ provider: 'shm', node: '${node}' });
        console.log(Buffer.from(ep.address).toString().replace('\\0', ''));
        await ep.close();
      } catch ({ code, message }) {
        console.log(code, message);
      }
    }`;
  const { status, stdout } = runInline(source);
  expect(status).toBe(0);
  const names = stdout.trim().split('\n');
  expect(names).toHaveLength(300);
  expect(names).not.toContain(nameOf(ep.address));
  const refused = names.filter((name) => name.startsWith('FI_'));
  const renamed = names.filter((name) => name.startsWith(`${nameOf(ep.address)}:`));
  expect(new Set([...refused, ...renamed]).size).toBe(1);
  for (const name of refused) {
    expect(name).toMatch(/^FI_EADDRINUSE /);
    expect(name).toContain(`process ${process.pid} has an endpoint with the name '${node}:`);
  }
  // The first endpoint still works.
  const peer = ep.av.insert(ep.address);
  const target = new Uint8Array(5);
  await Promise.all([ep.recv(target), ep.send(new Uint8Array(5).fill(1), peer)]);
  expect(target).toEqual(new Uint8Array(5).fill(1));
  await ep.close();
});

test('the name of an endpoint that was closed, here or elsewhere, is free', async () => {
  const node = `free-name-${process.pid}`;
  const openAndClose = async () => (await open({ provider: 'shm', node })).close();
  for (let round = 0; round < 2; round++) {
    await openAndClose();
    const source = `
      import { open } from 'libfabric';
      const ep = await open({ provider: 'shm', node: '${node}' });
      process.kill(process.pid, 'SIGKILL');`;
    expect(runInline(source).signal).toBe('SIGKILL');
  }
  rmSync(`/dev/shm/${node}:${process.getuid?.()}:0`, { force: true });
});
