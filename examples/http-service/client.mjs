// A client of server.mjs: `node client.mjs [provider] [port] [host]`. Without the agent it is a client over TCP.
import { once } from 'node:events';
import { request } from 'node:http';
import { FabricAgent } from 'libfabric/net';

const [provider = 'efa', port = '8080', host = 'localhost'] = process.argv.slice(2);
const agent = new FabricAgent({ keepAlive: true, provider });

async function ask(method, path, body) {
  const asked = request({ agent, host, port: Number(port), method, path });
  asked.end(body);
  const [response] = await once(asked, 'response');
  return Buffer.concat(await response.toArray());
}

console.log((await ask('GET', '/')).toString().trim());
const bytes = Buffer.alloc(8_000_000, 'x');
const start = performance.now();
const same = (await ask('POST', '/', bytes)).equals(bytes);
console.log(`${bytes.length} bytes there and back: ${same ? 'right' : 'WRONG'}`);
console.error(`${(performance.now() - start).toFixed(0)} ms`);
agent.destroy();
