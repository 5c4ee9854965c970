// The properties that console.log() and JSON.stringify() show.
import { describes } from '../base/describe.js';
import { TransferClient } from './transfer-client.js';
import { TransferServer } from './transfer-server.js';

describes('TransferServer', TransferServer, ({ engine, clients }) => ({
  engine: engine.id,
  clients,
}));
describes('TransferClient', TransferClient, ({ engine, servers }) => ({
  engine: engine.id,
  servers,
}));
