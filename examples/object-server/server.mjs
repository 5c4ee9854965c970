// @ts-check
// An object store: docs/objects.md.
//
//   node server.mjs FOLDER [--host 127.0.0.1] [--port 8080] [--provider tcp] [--node 127.0.0.1]
import { parseArgs } from 'node:util';
import { createObjectServer } from 'libfabric/objects';
import { TransferEngine } from 'libfabric/transfer';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '8080' },
    provider: { type: 'string' },
    node: { type: 'string' },
  },
});
const { host, port, ...options } = values;
const engine = await TransferEngine.open(options);
const server = await createObjectServer(positionals[0] ?? '.', { engine });
console.log(await server.listen(Number(port), host));
