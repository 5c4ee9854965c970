// Awaits one call of a transfer engine, and then has nothing left to do (arguments: call, 'exit' to call process.exit(), options
// of the engine as JSON). Its parent gets the address of the engine, and sends its own with a token.
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { TransferEngine } from 'libfabric/transfer';

const [call, how, options] = process.argv.slice(2);
const BYTES = 300_000;

const engine = await TransferEngine.open(JSON.parse(options));
process.send(engine.address);
const [{ address, token }] = await once(process, 'message');
const peer = await engine.peer(address);
const bytes = Buffer.alloc(BYTES, 7);
const memory = await engine.register(bytes);
const calls = {
  write: () => peer.write(memory, token),
  read: () => peer.read(token, memory),
  scatter: () => engine.group([peer]).scatter([{ from: memory, token }]),
  upload: () => peer.upload([bytes], token),
  download: () => buffer(peer.download(token)),
  barrier: () => engine.group([peer]).barrier(),
};
await calls[call]();
if (how === 'exit') process.exit();
process.disconnect();
