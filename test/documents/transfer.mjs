// Two engines, for the fragments of docs/transfer.md. `engine` and `remote` are one side, `other` and `back` the peer.
import { TransferEngine } from 'libfabric/transfer';

// A busy machine is no NIC that fails: `stall` is long.
const options = { provider: 'tcp', node: '127.0.0.1', stall: 60_000 };
const engine = await TransferEngine.open(options);
const other = await TransferEngine.open(options);
const remote = await engine.peer(other.address);
const back = await other.peer(engine.address);
const memory = await engine.allocate(2 ** 20);
const theirs = await other.allocate(2 ** 20);
const granted = await theirs.offer({ access: 'write', to: back });
const { token } = granted;

// HERE

remote.grant(token);
const last = await theirs.offer({ access: 'read', to: back });
await remote.read(last.token, memory);
await Promise.all([engine.close(), other.close()]);
