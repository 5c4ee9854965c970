// An endpoint of shm in a container. Prints its address, then obeys the lines of its input: "send ADDRESS" sends
// itself or the peer a message of 100,000 bytes and prints how that ended, "receive" prints the bytes of the next one,
// "close" closes the endpoint.
import { createInterface } from 'node:readline';
import { open } from 'libfabric';

const LENGTH = 100_000;
const ep = await open({ provider: 'shm', caps: ['FI_MSG'] });
const print = (line) => process.stdout.write(`${line}\n`);
print(Buffer.from(ep.address).toString().replace('\0', ''));
for await (const line of createInterface({ input: process.stdin })) {
  const [command, address] = line.split(' ');
  if (command === 'close') break;
  try {
    if (command === 'send') {
      await ep.send(new Uint8Array(LENGTH).fill(7), ep.av.insert(address), { timeout: 10_000 });
      print('sent');
    } else {
      const bytes = new Uint8Array(LENGTH);
      await ep.recv(bytes, null, { timeout: 10_000 });
      print(bytes.every((byte) => byte === 7) ? 'received' : 'wrong bytes');
    }
  } catch (error) {
    print(error.code);
  }
}
await ep.close();
print('closed');
process.exit();
