import { copyFileSync, existsSync } from 'node:fs';
import { open } from 'libfabric';
import { expect, test } from 'vitest';

const CAPS = ['FI_MSG'] as const;

/** Returns the file of an shm endpoint. Its name is the address, which ends in a counter. */
const fileOf = (address: string) => `/dev/shm/${address.replace('fi_shm://', '')}`;

test('shm opens although a killed process with the same pid left a file', async () => {
  const first = await open({ provider: 'shm', caps: CAPS });
  const address = Buffer.from(first.address).toString().replace('\0', '');
  const next = address.replace(/\d+$/, (index) => String(Number(index) + 1));
  copyFileSync(fileOf(address), fileOf(next));

  const second = await open({ provider: 'shm', caps: CAPS });
  expect(Buffer.from(second.address).toString().replace('\0', '')).toBe(next);
  const received = first.recv(new Uint8Array(8));
  await second.send(new Uint8Array(5), second.av.insert(first.address));
  expect(await received).toMatchObject({ length: 5 });
  await second.close();
  await first.close();
  expect(existsSync(fileOf(next))).toBe(false);
});
