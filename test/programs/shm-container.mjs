// An endpoint of shm in a container. Prints its address, then obeys the lines of its input: "send ADDRESS" sends the
// peer a message and prints the outcome, "close" closes the endpoint.
import { createInterface } from 'node:readline';
import { open } from 'libfabric';

const ep = await open({ provider: 'shm', caps: ['FI_MSG'] });
const print = (line) => process.stdout.write(`${line}\n`);
print(Buffer.from(ep.address).toString().replace('\0', ''));
for await (const line of createInterface({ input: process.stdin })) {
  const [command, address] = line.split(' ');
  if (command === 'close') break;
  try {
    await ep.send(new Uint8Array(100_000), ep.av.insert(address), { timeout: 10_000 });
    print('sent');
  } catch (error) {
    print(error.code);
  }
}
await ep.close();
print('closed');
process.exit();
