// A suite in a container: in each round a process with a device is killed, and this process continues with its
// own device. Prints "passed".
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'libfabric';

if (process.argv[2] === 'victim') {
  const ep = await open({ provider: 'efa' });
  process.on('message', () => ep.close()); // no message is ever sent
  process.send('ready');
  await once(process, 'disconnect');
}
for (let round = 0; round < 4; round++) {
  const victim = fork(process.argv[1], ['victim']);
  await once(victim, 'message');
  const ep = await open({ provider: 'efa' });
  victim.kill('SIGKILL');
  await once(victim, 'exit');
  const peer = ep.av.insert(ep.address);
  const received = ep.recv(new Uint8Array(10_000));
  await ep.send(new Uint8Array(10_000), peer);
  await received;
  await ep.close();
}
console.log('passed');
