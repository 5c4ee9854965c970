import { open } from 'libfabric';

const ep = await open({ provider: 'shm', caps: ['FI_MSG', 'FI_SOURCE'] });
const other = await open({ provider: 'shm', caps: ['FI_MSG', 'FI_SOURCE'] });
const sent = other.send(Buffer.from('hello'), other.av.insert(ep.address));
sent.then(() => ep.close());

// HERE

await sent;
await ep.close();
await other.close();
