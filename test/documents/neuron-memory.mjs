import { getInfo } from 'libfabric';

const fabric = { provName: 'efa', name: 'efa-direct' };
if (getInfo({ fabricAttr: fabric, caps: ['FI_RMA'] }).length === 0) process.exit(0); // libfabric before 2.1

// HERE

if (!memory.freed) throw new Error('the memory is still allocated');
await ep.close();
