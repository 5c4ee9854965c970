// @ts-check
// A client of server.mjs.
//
//   node client.mjs get URL-OF-BUCKET KEY FILE [--provider tcp] [--node 127.0.0.1]
//   node client.mjs put URL-OF-BUCKET KEY FILE [--provider tcp] [--node 127.0.0.1]
import { createReadStream } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { ObjectClient } from 'libfabric/objects';
import { TransferEngine } from 'libfabric/transfer';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { provider: { type: 'string' }, node: { type: 'string' } },
});
const [command, url = '', key = '', file = ''] = positionals;
const engine = await TransferEngine.open(values);
const objects = new ObjectClient(url, { engine });
await objects.createBucket().catch(({ code }) => console.log(`${url}: ${code}`));
if (command === 'put') await objects.put(key, createReadStream(file), { checksum: 'crc64nvme' });
else {
  await writeFile(`${file}.part`, objects.stream(key, { checksum: 'crc64nvme' }));
  await rename(`${file}.part`, file);
}
await objects.close();
await engine.close();
