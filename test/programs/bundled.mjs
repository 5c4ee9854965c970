// A message from one endpoint of this process to another, without top-level await, which CommonJS does not have.
import { open } from 'libfabric';
import { softefaLibrary } from 'libfabric/softefa';

async function main() {
  softefaLibrary();
  const options = { provider: 'tcp', node: '127.0.0.1' };
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
