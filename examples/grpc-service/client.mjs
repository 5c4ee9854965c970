// A client of server.mjs: `node client.mjs [provider] [port] [host]`. With the provider `none` it uses TCP.
import { credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import { FabricCredentials } from './fabric-credentials.mjs';
import { definition } from './service.mjs';

const [provider = 'efa', port = '50051', host = 'localhost'] = process.argv.slice(2);
const plain = credentials.createInsecure();
const overFabric = provider !== 'none';

const Client = makeGenericClientConstructor(definition, 'Text');
const client = new Client(
  `${host}:${Number(port) + (overFabric ? 1 : 0)}`,
  overFabric ? new FabricCredentials(plain, { provider }) : plain,
);
const { text } = await new Promise((resolve, reject) => {
  client.reverse({ text: 'over the fabric' }, (error, answer) =>
    error ? reject(error) : resolve(answer),
  );
});
console.log(text);
client.close();
