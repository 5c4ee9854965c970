// The properties that console.log() and JSON.stringify() show of each object.
import { describes } from '../base/describe.js';
import { ObjectClient } from './client.js';
import { ObjectServer } from './server.js';

describes('ObjectClient', ObjectClient, ({ url, closed }) => ({ url, closed }));
describes('ObjectServer', ObjectServer, ({ root, url, closed }) => ({ root, url, closed }));
