// node transfer.mjs PROVIDER: sends a message from one endpoint of this process to another. efa uses a software
// device. For a project that has the package installed or bundled: it has no top-level await, which CommonJS lacks.
import { randomBytes } from 'node:crypto';
import { open } from 'libfabric';
import { loadSoftefa } from 'libfabric/softefa';

async function main() {
  const [provider] = process.argv.slice(2);
  process.env.FI_EFA_ENABLE_SHM_TRANSFER ??= '0'; // uses the device also within a host
  const namespace = `transfer-${randomBytes(4).toString('hex')}`;
  if (provider === 'efa') loadSoftefa({ namespace, keep: false, memlock: 'unlimited' });

  const options = { provider, ...(provider === 'tcp' && { node: '127.0.0.1' }) };
  const sender = await open(options);
  const receiver = await open(options);
  const buffer = new Uint8Array(64);
  const received = receiver.recv(buffer);
  await sender.send(Buffer.from('hello, fabric'), sender.av.insert(receiver.address));
  const { length } = await received;
  console.log(Buffer.from(buffer.subarray(0, length)).toString());
  await sender.close();
  await receiver.close();
}

main();
