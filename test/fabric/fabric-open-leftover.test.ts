import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { open } from 'libfabric';
import { expect, onTestFinished, test } from 'vitest';

const PROGRAM = new URL('../programs/shm-container.mjs', import.meta.url).pathname;
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

test('an endpoint of shm removes the files of killed processes of its PID namespace', async () => {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  const file = fileOf(value);
  const ofOther = file.replace(/:\d+:/, ':7:'); // the same pid in another PID namespace
  writeFileSync(ofOther, '');
  onTestFinished(() => rmSync(ofOther, { force: true }));

  await (await open({ provider: 'shm', caps: CAPS })).close();
  expect([file, ofOther].map((one) => existsSync(one))).toEqual([true, true]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await (await open({ provider: 'shm', caps: CAPS })).close();
  expect([file, ofOther].map((one) => existsSync(one))).toEqual([false, true]);
});
